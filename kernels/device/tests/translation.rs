//! The text that the translation makes. The tests of the library compile such texts and compare their numbers with those of Rust.

#![allow(missing_docs)]

use minifenl_device::device;

#[device]
mod small {
    pub const HALF: f64 = 0.5;

    #[derive(Clone, Copy, Debug)]
    pub struct Spring {
        pub stiffness: f64,
        pub at: [f64; 3],
    }

    impl Spring {
        pub fn energy(&self, x: [f64; 3]) -> f64 {
            let mut sum = 0.0;
            for i in 0..3 {
                let d = x[i] - self.at[i];
                sum += d * d;
            }
            if sum > 4.0 { 4.0 * HALF } else { HALF * self.stiffness * sum.sqrt() }
        }
    }

    pub fn twice([a, b]: [f64; 2]) -> [f64; 2] {
        [a, b].map(|x| 2.0 * x)
    }

    pub fn steps(n: usize) -> f64 {
        let (mut left, mut steps) = (n as f64, 0.0);
        while left > 1.0 {
            left /= 2.0;
            steps += 1.0;
        }
        steps
    }
}

#[test]
fn functions_still_work_in_rust() {
    let spring = small::Spring { stiffness: 2.0, at: [0.0; 3] };
    assert_eq!((spring.energy([0.0, 1.0, 0.0]), spring.energy([3.0, 0.0, 0.0])), (1.0, 2.0));
    assert_eq!((small::twice([1.0, 2.0]), small::steps(9)), ([2.0, 4.0], 4.0));
}

#[test]
fn the_text_is_that_by_hand() {
    let text = small::CUDA;
    for line in [
        "constexpr double HALF = 0.5;",
        "struct Spring {\n    double stiffness;\n    Array<double, 3> at;",
        "__device__ __forceinline__ double energy(Array<double, 3> x) const {",
        "_Pragma(\"unroll\") for (int i = 0, place_1 = 3; i < place_1; i++) {\nauto d = (x[i] - (*this).at[i]);\nsum += (d * d);\n}",
        "return ((sum > 4.0) ? (4.0 * HALF) : ((HALF * (*this).stiffness) * ::sqrt(sum)));",
        "INLINE Array<double, 2> twice(Array<double, 2> argument_0);",
        "INLINE Array<double, 2> twice(Array<double, 2> argument_0) {\nauto a = argument_0[0];\nauto b = argument_0[1];",
        "return ::map(::array(a, b), [=](decltype(::item_of(::array(a, b))) x) {\nreturn (2.0 * x);\n});",
        "while ((left > 1.0)) {\nleft /= 2.0;\nsteps += 1.0;\n}",
    ] {
        assert!(text.contains(line), "{line}\n--- not in\n{text}");
    }
}

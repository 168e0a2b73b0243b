//! What has no translation is refused at its place, with what would be accepted.

use super::{Result, extend};
use quote::quote;
use syn::ItemMod;

/// The error of a function body, with the text at its place.
fn refused(body: &str) -> (String, String) {
    let module = format!("mod m {{ pub fn f<N: Number>(a: N, b: [f64; 3], n: usize) -> f64 {{ {body} }} }}");
    error(&module)
}

/// The error of a module, with the text at its place.
fn error(module: &str) -> (String, String) {
    let error = translated(module).expect_err(module);
    let range = error.span().byte_range();
    (error.to_string(), module.get(range).unwrap_or_default().to_string())
}

fn translated(module: &str) -> Result<String> {
    let mut module: ItemMod = syn::parse_str(module)?;
    extend(false, &mut module)?;
    Ok(quote!(#module).to_string())
}

#[test]
fn what_has_no_translation_is_refused_at_its_place() {
    for (body, place, words) in [
        ("match n { _ => 0.0 }", "match n { _ => 0.0 }", "expected arithmetic, arrays"),
        ("loop { return 0.0; }", "loop { return 0.0; }", "expected arithmetic, arrays"),
        ("for x in b { return x; } 0.0", "b", "expected a range of whole numbers: `for i in 0..n`"),
        ("let v = vec![0.0]; 0.0", "vec![0.0]", "expected arithmetic"),
        ("let v: Vec<f64> = w(); 0.0", "Vec<f64>", "expected a number, bool, an array"),
        ("b.iter().sum()", "iter", "`iter` has no translation to CUDA: expected one of sqrt, exp, ln"),
        ("let a = b; let a = 1.0; 0.0", "a", "expected a new name"),
        ("let x; x = 1.0; x", "let x;", "expected a value: `let x = ...`"),
        ("let x = array::from_fn(|i| b[i]); 0.0", "let x = array::from_fn(|i| b[i]);", "expected a type"),
        ("let mut s = 0.0; b.map(|x| { s += x; x }); s", "s", "expected a name of the closure"),
        ("let x = if n > 1 { return 1.0; } else { 2.0 }; x", "return 1.0", "in a block whose value is used"),
        ("b.map(|x| x).map(|x| x); 0.0", "b.map(|x| x)", "bind the array by `let` before `map`"),
        ("let f = |i| b[i]; f(0)", "i", "expected a type: `|i: usize| ...`"),
        ("g::<3>(a)", "::<3>", "`::<>` has no translation"),
        ("(1.0, 2.0).0", "(1.0, 2.0).0", "expected a named field"),
        ("n as f64 + \"text\"", "\"text\"", "expected a number"),
        ("n << 2", "<<", "this operator has no translation"),
        ("std::fs::read(b)", "std::fs::read", "expected arithmetic"),
        ("let &mut c = b; 0.0", "&mut c", "expected a name, `_`, or an array"),
        ("unsafe { 0.0 }", "unsafe { 0.0 }", "expected arithmetic"),
    ] {
        let (message, found) = refused(body);
        assert!(message.contains(words), "{body}: {message}");
        assert_eq!(found, place, "{body}: {message}");
    }
}

#[test]
fn items_without_translation_are_refused_at_their_place() {
    for (items, place, words) in [
        ("struct S<T> { a: T }", "<T>", "expected a struct without parameters"),
        ("struct S(f64);", "struct S(f64);", "expected a struct with named fields"),
        ("enum E { A }", "enum E { A }", "expected a struct, an implementation"),
        ("impl Equation<1> for Other { }", "Other", "expected a struct of this module"),
        ("struct S { n: usize } impl Equation<1> for S { }", "usize", "expected f64 or an array of f64"),
        ("struct S { n: f64 } impl S { fn set(&mut self) { } }", "&mut self", "expected `&self` or `self`"),
        ("fn f(a: &mut f64) { }", "&mut f64", "this type has no translation"),
        ("fn f(a: &[bool; 2]) { a[0] = 1; } fn g(a: &[[f64; 3]]) { }", "[f64; 3]", "expected a slice of numbers"),
        (
            "#[repr(C)] #[derive(Clone, Copy, Debug, Default, PartialEq)] struct V { n: u32 }",
            "u32",
            "expected f64 or an array of f64",
        ),
        ("#[repr(C)] struct V { n: f64 }", "V", "expected #[derive(Clone, Copy, Debug, Default, PartialEq)]"),
    ] {
        let (message, found) = error(&format!("mod m {{ {items} }}"));
        assert!(message.contains(words), "{items}: {message}");
        assert_eq!(found, place, "{items}: {message}");
    }
}

#[test]
fn the_attribute_is_for_modules_with_content_and_takes_no_arguments() {
    let error = extend(false, &mut syn::parse_str("mod m;").unwrap()).unwrap_err();
    assert!(error.to_string().contains("a module with its content: `mod name { ... }`"));
    let error = extend(true, &mut syn::parse_str("mod m { }").unwrap()).unwrap_err();
    assert!(error.to_string().contains("takes no arguments"));
}

#[test]
fn structs_with_a_trait_get_their_text_and_numbers() {
    let text = translated(
        "mod m { struct S { k: f64, at: [[f64; 3]; 2] } impl Equation<1> for S { fn weak(&self) -> f64 { self.k } } struct T { n: f64 } }",
    )
    .unwrap();
    let implementation = quote!(impl ::minifenl::space::DeviceText for S).to_string();
    assert!(text.contains(&implementation) && text.contains("\"weak\"") && text.contains("self . at"), "{text}");
    assert!(!text.contains("DeviceText for T"), "{text}");
}

#[test]
fn structs_of_numbers_in_the_order_of_c_become_items_of_arrays() {
    let derived = "#[derive(Clone, Copy, Debug, Default, PartialEq)] struct V { a: f64, b: [f64; 2] }";
    let item = quote!(
        unsafe impl ::minifenl::space::Item for V {}
    )
    .to_string();
    for (repr, is_item) in [("#[repr(C)]", true), ("", false), ("#[repr(C, align(32))]", false)] {
        assert_eq!(translated(&format!("mod m {{ {repr} {derived} }}")).unwrap().contains(&item), is_item, "{repr}");
    }
}

#[test]
fn arrays_of_slices_are_not_copied() {
    let text =
        translated("mod m { fn f([x, _]: [&[f64]; 2], mut z: [&[f64]; 1]) -> f64 { z = [x]; z[0][0] } }").unwrap();
    let expected = "f(const Array<Slice<const double>, 2>& argument_0, Array<Slice<const double>, 1> z)";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_range_of_a_slice_is_a_slice() {
    let text = translated("mod m { fn f(x: &[Scratch], n: usize) -> f64 { let y = &x[n..2 * n]; y[0] } }").unwrap();
    let expected = ["f(Slice<Scratch> x, int n)", "auto y = ::part(x, n, (2 * n))", "return y[0]"];
    assert!(expected.iter().all(|part| text.contains(part)), "{text}");
}

//! Names of choices: one table per enum for command-line flags, decks and reports.

/// Makes an enum whose variants have names, with the table `ALL: [(Self, &str); N]`, or takes an enum that has this table, and implements
/// `Display` and `FromStr`. The error of an unknown name lists all names.
#[macro_export]
macro_rules! named_choice {
    ($what:literal; $(#[$of_enum:meta])* $visible:vis enum $choice:ident {
        $($(#[$of_variant:meta])* $variant:ident = $name:literal,)+
    }) => {
        $(#[$of_enum])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visible enum $choice {
            $($(#[$of_variant])* $variant,)+
        }

        impl $choice {
            /// All choices with their names.
            pub const ALL: [(Self, &'static str); [$($name),+].len()] = [$((Self::$variant, $name)),+];
        }
        $crate::space::named_choice!($choice, $what);
    };
    ($choice:ty, $what:literal) => {
        impl std::fmt::Display for $choice {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let named = Self::ALL.iter().find(|(choice, _)| choice == self);
                f.pad(named.map_or("", |(_, name)| name))
            }
        }

        impl std::str::FromStr for $choice {
            type Err = $crate::Error;
            fn from_str(text: &str) -> $crate::Result<Self> {
                let named = Self::ALL.iter().find(|(_, name)| *name == text);
                named.map(|&(choice, _)| choice).ok_or_else(|| {
                    let names = Self::ALL.map(|(_, name)| name).join(", ");
                    $crate::Error::Invalid(format!(concat!($what, " {:?}: choose one of {}"), text, names))
                })
            }
        }
    };
}

pub use named_choice;

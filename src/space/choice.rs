//! Names of choices: one table per enum for command-line flags, decks and reports.

/// Implements `Display` and `FromStr` for an enum with a table `ALL: [(Self, &str); N]`. The error lists the names.
#[macro_export]
macro_rules! named_choice {
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

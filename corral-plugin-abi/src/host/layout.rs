//! The layout check, and a mismatch in a few lines instead of a thousand.

use abi_stable::StableAbi;
use abi_stable::abi_stability::abi_checking::{
    AbiInstability, AbiInstabilityErrors, ExpectedFound, check_layout_compatibility,
};
use abi_stable::type_layout::{TLFieldOrFunction, TypeLayout};

use crate::abi::CorralRootV1Ref;

/// Lines of a summary.
const LINES: usize = 4;

/// Compares the plugin's layout with the host's: the same, the plugin's with more at the end, or (the other way round)
/// the plugin's with less at the end, which is an older plugin.
pub(super) fn check(plugin: &'static TypeLayout) -> Result<(), String> {
    let host = <CorralRootV1Ref as StableAbi>::LAYOUT;
    let Err(errors) = check_layout_compatibility(host, plugin) else { return Ok(()) };
    check_layout_compatibility(plugin, host).map_err(|_| summary(&errors))
}

/// Which field of which type, what was expected, what was found.
fn summary(errors: &AbiInstabilityErrors) -> String {
    let mut lines = Vec::new();
    let mut more = 0;
    for error in &errors.errors {
        for one in &error.errs {
            // The size of a struct with a changed field is no news.
            if matches!(one, AbiInstability::Size(_) | AbiInstability::Alignment(_)) && !lines.is_empty() {
                continue;
            }
            if lines.len() == LINES {
                more += 1;
                continue;
            }
            let place = place(&error.stack_trace, one);
            lines.push(format!("  {place}: {}", told(one)));
        }
    }
    lines.dedup();
    if more > 0 {
        lines.push(format!("  and {more} more"));
    }
    lines.join("\n")
}

/// Where it is: a field of a type, or, where the fields themselves differ, the type.
fn place(path: &[ExpectedFound<TLFieldOrFunction>], error: &AbiInstability) -> String {
    use AbiInstability as A;
    // The outermost types are abi_stable's own wrappings of the root and of tables.
    let owner = |path: &[ExpectedFound<TLFieldOrFunction>]| match path.last().map(|at| &at.expected) {
        Some(TLFieldOrFunction::Field(field)) => format!("`{}`", field.layout().name()),
        Some(TLFieldOrFunction::Function(function)) => format!("the function `{}`", function.name),
        None => "the root module".into(),
    };
    match (path.split_last(), error) {
        (None, _) | (_, A::UnexpectedField(_) | A::FieldCountMismatch(_) | A::MismatchedPrefixSize(_)) => {
            owner(path)
        }
        (Some((last, before)), _) => match &last.expected {
            TLFieldOrFunction::Field(field) => format!("field `{}` of {}", field.name(), owner(before)),
            TLFieldOrFunction::Function(function) => format!("function `{}`", function.name),
        },
    }
}

fn told(error: &AbiInstability) -> String {
    use AbiInstability as A;
    fn line(text: &impl std::fmt::Display) -> String {
        text.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
    }
    fn pair<T: std::fmt::Display>(what: &str, of: &ExpectedFound<T>) -> String {
        format!("expected {what}{}, found {}", line(&of.expected), line(&of.found))
    }
    match error {
        A::Name(of) => pair("type ", of),
        A::Package(of) => pair("a type of package ", of),
        A::PackageVersion(of) => pair("package version ", of),
        A::Size(of) => pair("size ", of),
        A::Alignment(of) => pair("alignment ", of),
        A::NonZeroness(of) => pair("that it cannot be zero: ", of),
        A::FieldCountMismatch(of) => pair("number of fields ", of),
        A::MismatchedPrefixSize(of) => pair("number of first fields ", of),
        A::MismatchedPrimitive(of) => {
            format!("expected primitive {:?}, found {:?}", of.expected, of.found)
        }
        A::UnexpectedField(of) => {
            format!("expected the field `{}`, found `{}`", of.expected.name(), of.found.name())
        }
        A::FnQualifierMismatch(of) => {
            format!("expected {}, found {}", line(&of.expected), line(&of.found))
        }
        A::TLDataDiscriminant(of) => format!("expected {:?}, found {:?}", of.expected, of.found),
        A::ReprAttr(of) => format!("expected {:?}, found {:?}", of.expected, of.found),
        // The name of the variant says what it is.
        other => {
            let text = format!("{other:?}");
            text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_owned()
        }
    }
}

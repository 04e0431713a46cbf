//! The C header says what `abi.rs` says: sizes, alignments and offsets, number by number.

use std::mem::{align_of, offset_of, size_of};
use std::path::Path;
use std::process::Command;

use crate::common::{compile, folder, workspace};
use corral_plugin_abi::abi::*;

/// Lines for the C program, and the numbers that Rust has for them.
macro_rules! layout {
    ($($type:ident { $($field:ident),* $(,)? })*) => {{
        let mut lines = String::new();
        let mut ours = String::new();
        $(
            lines.push_str(concat!("SIZE(", stringify!($type), ");\n"));
            ours.push_str(&format!("{} {} {}\n", stringify!($type), size_of::<$type>(), align_of::<$type>()));
            $(
                lines.push_str(concat!("FIELD(", stringify!($type), ", ", stringify!($field), ");\n"));
                let at = offset_of!($type, $field);
                ours.push_str(&format!("{}.{} {at}\n", stringify!($type), stringify!($field)));
            )*
        )*
        (lines, ours)
    }};
}

#[test]
fn sizes_and_offsets_are_the_same() {
    let (mut lines, mut ours) = layout! {
        CorralStr { ptr, len }
        CorralText { ptr, capacity, len }
        CorralContext { features, features_len, rows, rows_len, row_dim, actions, cell }
        CorralRng { state, next_u32, next_u64, fill_bytes }
        CorralSetup { struct_size, actions, set, dim, set_text, features, row_features, cells, horizon }
        CorralProposal { arm, reserved, point, dim, memo, memo_capacity, memo_len }
        CorralDecision { arm, reserved, point, dim, memo, memo_len }
        CorralBaseV1 {
            magic, struct_size, abi_minor, kind, alpha, name, description, version, create, destroy, propose, learn,
            rerange, save, load, pass, likelihood, learns_from_others, heeds_passes, extension,
        }
    };
    for (name, value) in [
        ("CORRAL_MAGIC", CORRAL_MAGIC),
        ("CORRAL_UNKNOWN", CORRAL_UNKNOWN),
        ("CORRAL_NEEDS_HORIZON", CORRAL_NEEDS_HORIZON),
        ("CORRAL_ABI_MINOR", CORRAL_ABI_MINOR.into()),
        ("CORRAL_KIND_ARMS", CORRAL_KIND_ARMS.into()),
        ("CORRAL_KIND_CONTEXTUAL", CORRAL_KIND_CONTEXTUAL.into()),
        ("CORRAL_KIND_POINTS", CORRAL_KIND_POINTS.into()),
        ("CORRAL_OK", CORRAL_OK as u64),
        ("CORRAL_ERROR", CORRAL_ERROR as u64),
        ("CORRAL_PANICKED", CORRAL_PANICKED as u64),
        ("CORRAL_NONE", CORRAL_NONE as u64),
        ("CORRAL_SET_NONE", CORRAL_SET_NONE.into()),
        ("CORRAL_SET_BALL", CORRAL_SET_BALL.into()),
        ("CORRAL_SET_BOX", CORRAL_SET_BOX.into()),
        ("CORRAL_SET_SIMPLEX", CORRAL_SET_SIMPLEX.into()),
        ("CORRAL_SET_OTHER", CORRAL_SET_OTHER.into()),
    ] {
        lines.push_str(&format!("printf(\"{name} %llu\\n\", (unsigned long long){name});\n"));
        ours.push_str(&format!("{name} {value}\n"));
    }
    let dir = folder();
    std::fs::write(dir.path().join("fields.inc"), lines).unwrap();
    let include = format!("-I{}", dir.path().display());
    let flags = [&*include, "-std=c11", "-pedantic", "-Werror"];
    let Some(program) = crate::common::c("layout.c", &dir.path().join("layout"), &flags) else { return };
    let theirs = String::from_utf8(Command::new(program).output().unwrap().stdout).unwrap();
    assert_eq!(theirs, ours);
}

/// The table of version 1 is frozen: these numbers never change, new fields come behind.
#[test]
#[cfg(target_pointer_width = "64")]
fn the_table_is_frozen() {
    assert_eq!(offset_of!(CorralBaseV1, create), 80);
    assert_eq!(offset_of!(CorralBaseV1, load), 128);
    assert_eq!(offset_of!(CorralBaseV1, extension), 168);
    assert_eq!(size_of::<CorralContext>(), 48);
    assert_eq!(size_of::<CorralProposal>(), 48);
    assert_eq!(size_of::<CorralDecision>(), 40);
    assert_eq!(size_of::<CorralSetup>(), 72);
}

#[test]
fn cpp_reads_the_header() {
    let dir = folder();
    let source = dir.path().join("plugin.cc");
    let text =
        "#include \"corral_plugin.h\"\nconst CorralBaseV1 *corral_plugin_v1(uint32_t) { return nullptr; }\n";
    std::fs::write(&source, text).unwrap();
    let abi = workspace().join("corral-plugin-abi");
    let flags = ["-std=c++17", "-pedantic", "-Werror", "-shared", "-fPIC"];
    compile("c++", Path::new(&abi), &source, &dir.path().join("plugin.so"), &flags);
}

//! The line that makes a crate a plugin.

/// Makes the crate a plugin with these bases, each a type that implements [`Plugin`](crate::Plugin). Once per crate;
/// `crate-type = ["cdylib"]` in its manifest.
///
/// ```ignore
/// corral_plugin! { "zooming" => Zooming, "lazy-zooming" => LazyZooming }
/// ```
///
/// The version of the bases is that of the crate.
#[macro_export]
macro_rules! corral_plugin {
    ($($name:literal => $base:ty),+ $(,)?) => {
        $crate::__corral_plugin! { Yes; $($name => $base),+ }
    };
}

/// The plugin with its layout check on or off: hosts refuse the latter.
#[doc(hidden)]
#[macro_export]
macro_rules! __corral_plugin {
    ($check:ident; $($name:literal => $base:ty),+) => {
        const _: () = {
            use $crate::__private as __corral;

            static BASES: &[__corral::CorralBaseV1Ref] = &[$({
                static TABLE: &__corral::WithMetadata<__corral::CorralBaseV1> = &__corral::WithMetadata::new(
                    __corral::exported::<$base>(__corral::named($name), ::core::env!("CARGO_PKG_VERSION")),
                );
                __corral::CorralBaseV1Ref(TABLE.static_as_prefix())
            }),+];
            static ROOT: &__corral::WithMetadata<__corral::CorralRootV1> =
                &__corral::WithMetadata::new(__corral::CorralRootV1 { bases: __corral::RSlice::from_slice(BASES) });

            extern "C" fn root() -> __corral::RootModuleResult {
                __corral::erased_root(__corral::CorralRootV1Ref(ROOT.static_as_prefix()))
            }

            // The name under which abi_stable 0.11 looks for the header of a library.
            #[unsafe(export_name = "_1as_0lib_1header_0root_bmodule_bloader")]
            // SAFETY: `root` returns the root module of this very type, erased; its layout is told as `CheckTypeLayout` says.
            static HEADER: __corral::LibHeader = unsafe {
                __corral::LibHeader::from_constructor::<__corral::CorralRootV1Ref>(
                    root,
                    __corral::CheckTypeLayout::$check,
                )
            };
        };
    };
}

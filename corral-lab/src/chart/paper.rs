//! Figures for paper as files: SVG always; PDF and PNG where the program was built with the feature `figures`.

use std::path::Path;

use crate::choice::Choice;

/// What a figure is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Scalable, its text drawn with the reader's font.
    Svg,
    /// Scalable, its font embedded.
    Pdf,
    /// 300 dots to the inch.
    Png,
}

/// How text is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fonts {
    /// As text: it can be searched and edited; a PDF embeds the font
    Text,
    /// As outlines of the letters: it looks the same everywhere
    Outlines,
}

impl Choice for Fonts {
    const ALL: &[(Self, &str, &str)] = &[
        (Self::Text, "text", "As text: it can be searched and edited; a PDF embeds the font"),
        (Self::Outlines, "outlines", "As outlines of the letters: it looks the same everywhere"),
    ];
}

impl Form {
    /// By the ending of a file's name.
    ///
    /// # Errors
    /// It is none of them.
    pub fn of(path: &Path) -> Result<Self, String> {
        match path.extension().and_then(|e| e.to_str()) {
            Some("svg") => Ok(Self::Svg),
            Some("pdf") => Ok(Self::Pdf),
            Some("png") => Ok(Self::Png),
            _ => Err(format!("{}: a figure is a file that ends in .svg, .pdf or .png", path.display())),
        }
    }

    /// A drawing in this form, with a font of this `family`, where it asks for one.
    ///
    /// # Errors
    /// The program was built without it, or no font is installed, or not the one that is asked for.
    pub fn render(self, svg: String, fonts: Fonts, family: Option<&str>) -> Result<Vec<u8>, String> {
        match (self, fonts) {
            (Self::Svg, Fonts::Text) => Ok(svg.into_bytes()),
            (form, fonts) => converted(form, &svg, fonts, family),
        }
    }
}

#[cfg(not(feature = "figures"))]
fn converted(form: Form, _svg: &str, _fonts: Fonts, _family: Option<&str>) -> Result<Vec<u8>, String> {
    let what = match form {
        Form::Svg => "outlines of letters",
        Form::Pdf => "PDF",
        Form::Png => "PNG",
    };
    Err(format!(
        "this program was built without {what}: build it with --features figures, or write an SVG with text"
    ))
}

#[cfg(feature = "figures")]
fn converted(form: Form, svg: &str, fonts: Fonts, family: Option<&str>) -> Result<Vec<u8>, String> {
    use resvg::{tiny_skia, usvg};
    const DOTS: f32 = 300.0 / 96.0;
    let mut options = usvg::Options::default();
    options.fontdb_mut().load_system_fonts();
    let installed = |name: &str| {
        let families = [usvg::fontdb::Family::Name(name)];
        let query = usvg::fontdb::Query { families: &families, ..Default::default() };
        options.fontdb.query(&query).is_some()
    };
    if let Some(family) = family.filter(|family| !installed(family)) {
        return Err(format!("the font {family:?} is not installed here"));
    }
    let usual = ["Helvetica", "Arial", "Liberation Sans", "DejaVu Sans", "Noto Sans"];
    let sans = usual.into_iter().find(|name| installed(name));
    match sans {
        Some(name) => options.fontdb_mut().set_sans_serif_family(name),
        None if options.fontdb.is_empty() => {
            return Err("no font is installed here; write an SVG with text, whose reader has one".to_owned());
        }
        None => {}
    }
    let tree = usvg::Tree::from_str(svg, &options).map_err(|e| e.to_string())?;
    match form {
        Form::Svg => {
            let options = usvg::WriteOptions { preserve_text: false, ..Default::default() };
            Ok(tree.to_string(&options).into_bytes())
        }
        Form::Pdf => {
            let options =
                svg2pdf::ConversionOptions { embed_text: fonts == Fonts::Text, ..Default::default() };
            // A pixel is 1/96 inch, and PDF counts in 1/72.
            svg2pdf::to_pdf(&tree, options, svg2pdf::PageOptions { dpi: 96.0 }).map_err(|e| e.to_string())
        }
        Form::Png => {
            let size = tree.size().to_int_size().scale_by(DOTS).ok_or("the figure is empty")?;
            let mut pixels =
                tiny_skia::Pixmap::new(size.width(), size.height()).ok_or("the figure is too large")?;
            resvg::render(&tree, tiny_skia::Transform::from_scale(DOTS, DOTS), &mut pixels.as_mut());
            pixels.encode_png().map_err(|e| e.to_string())
        }
    }
}

//! Expands `tests/expansion/*.rs` and compares the result with `*.expanded.rs` beside them.
//!
//! `UPDATE_GOLDEN=1 cargo test -p tool-runtime-macros` overwrites the expected files.

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Attribute, Item, Meta};

use crate::attr::ToolAttr;
use crate::errors::Errors;
use crate::keys::{ArgKey, Key as _, ToolKey, ToolsKey};
use crate::raw::{Place, RawTool};
use crate::validate::validate;

#[test]
fn expansions_match_the_expected_files() {
    let mut cases = 0;
    for path in cases_in("tests/expansion") {
        let expanded = expanded(&path);
        let reviewed = path.with_extension("expanded.rs");
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&reviewed, &expanded).unwrap();
        }
        let reviewed = fs::read_to_string(&reviewed).unwrap_or_default();
        assert_eq!(
            reviewed,
            expanded,
            "{}: if the change is intended, UPDATE_GOLDEN=1 overwrites the file",
            path.display(),
        );
        cases += 1;
    }
    assert!(cases >= 20);
}

/// Every key of an attribute occurs in a valid case.
#[test]
fn every_key_is_expanded_somewhere() {
    let cases = cases_in("tests/expansion").filter(|path| !path.to_string_lossy().contains("mistakes"));
    let sources: String = cases.map(|path| fs::read_to_string(path).unwrap()).collect();
    let written: Vec<&str> = sources
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .collect();
    for key in ToolKey::names().into_iter().chain(ArgKey::names()) {
        assert!(
            written.contains(&key),
            "no file in tests/expansion has the key `{key}`"
        );
    }
}

/// A synonym of a renamed key would never be suggested.
#[test]
fn every_synonym_belongs_to_a_key() {
    for (synonym, key) in crate::suggest::SYNONYMS {
        let is_key = [ToolKey::names(), ToolsKey::names(), ArgKey::names()]
            .concat()
            .contains(key);
        assert!(
            is_key,
            "the synonym `{synonym}` belongs to the unknown key `{key}`"
        );
    }
}

#[test]
fn expansions_are_short() {
    for (case, most) in [("two_parameters.rs", 45), ("five_parameters.rs", 70)] {
        let expanded = expanded(&Path::new("tests/expansion").join(case));
        let lines = expanded.lines().count();
        assert!(lines <= most, "{case} has {lines} lines");
    }
}

/// An editor expands incomplete code at every keystroke.
#[test]
fn incomplete_input_never_panics() {
    let mut expanded = 0;
    for path in cases_in("tests/expansion") {
        let source = fs::read_to_string(&path).unwrap();
        for (end, _) in source.char_indices() {
            let Ok(item) = source[..end].parse::<TokenStream>() else {
                continue;
            };
            for macros in [crate::tool::tool, crate::tools::tools] {
                assert!(item.is_empty() || !macros(TokenStream::new(), &item).is_empty());
                macros(item.clone(), &item);
                expanded += 1;
            }
        }
    }
    assert!(expanded > 500, "only {expanded}");
}

/// An attribute without its last tokens is still parsed, and the function is still emitted.
#[test]
fn keeps_the_function_under_an_incomplete_attribute() {
    let attr =
        r#"name = "a", range = 1..=2, timeout = "1s", errors = a::b, input_examples = [{}], strict = true"#;
    let item = "/// Acts.\nasync fn act(#[arg(default = 1)] count: u8) {}";
    for (end, _) in attr.char_indices() {
        let Ok(attr) = attr[..end].parse::<TokenStream>() else {
            continue;
        };
        let expanded = crate::tool::tool(attr, &item.parse().unwrap());
        let file: syn::File = syn::parse2(expanded).unwrap();
        let is_act = |item: &Item| matches!(item, Item::Fn(item) if item.sig.ident == "act");
        assert!(file.items.iter().any(is_act));
        let is_type = |item: &Item| matches!(item, Item::Struct(item) if item.ident == "act");
        assert!(file.items.iter().any(is_type));
    }
}

/// The function, the struct with its name and the complete parts of an incomplete signature are emitted.
#[test]
fn keeps_the_function_with_an_incomplete_signature() {
    let params =
        "/// A.\n first: Vec<(u8, String)>, #[arg(default = 1)] second: fn(u8) -> u8, mut third: [u8; 2]";
    let output = "-> Result<Vec<u8>, String> where u8: Copy";
    let params_cut = params
        .char_indices()
        .map(|(end, _)| format!("pub async fn act({}) {output} {{}}", &params[..end]));
    let output_cut = output
        .char_indices()
        .map(|(end, _)| format!("/// Acts.\npub async fn act({params}) {} {{}}", &output[..end]));
    let others = [
        "async fn act {}",
        "async fn act(a: u8)",
        "fn async act(a: u8) {}",
        "async fn act(a: u8 b: u8) {}",
        "async unsafe fn act(a, b: ) -> {}",
    ];
    let mut half = 0;
    for text in params_cut.chain(output_cut).chain(others.map(str::to_owned)) {
        let Ok(item) = text.parse::<TokenStream>() else {
            continue;
        };
        if !text.contains("fn act") {
            continue;
        }
        half += usize::from(syn::parse2::<syn::ItemFn>(item.clone()).is_err());
        let expanded = crate::tool::tool(TokenStream::new(), &item);
        let file: syn::File = syn::parse2(expanded).unwrap_or_else(|error| panic!("{text}: {error}"));
        let is_act = |item: &Item| matches!(item, Item::Fn(item) if item.sig.ident == "act");
        assert!(file.items.iter().any(is_act), "{text}");
        let is_type = |item: &Item| matches!(item, Item::Struct(item) if item.ident == "act");
        assert!(file.items.iter().any(is_type), "{text}");
    }
    assert!(half > 60, "only {half}");
}

/// Calls with a parameter that was already typed cause no error.
#[test]
fn keeps_the_parameters_of_an_incomplete_signature() {
    for (text, most) in [
        (
            "async fn act(a: u8, b) {}",
            "a : u8 , b : impl :: core :: marker :: Sized",
        ),
        (
            "async fn act(a: , b: u8) {}",
            "a : impl :: core :: marker :: Sized , b : u8",
        ),
        ("async fn act(a: u8 b: u8) {}", "a : u8 , b : u8"),
        (
            "async fn act(a: Vec<u8, b: u8) {}",
            "a : impl :: core :: marker :: Sized",
        ),
        (
            "async fn act(a: HashMap<u8, u8> c, b: u8) {}",
            "a : impl :: core :: marker :: Sized , b : u8",
        ),
        (
            "async fn act(/// A.\n a: Vec< /// B.\n b: u8) {}",
            "a : impl :: core :: marker :: Sized , b : u8",
        ),
    ] {
        let item = text.parse().unwrap();
        let function = crate::incomplete::parse(&item).unwrap();
        let mut params = function.sig.inputs;
        params
            .iter_mut()
            .for_each(|param| drop(crate::function::take_tool_attrs(param)));
        assert_eq!(params.to_token_stream().to_string(), most, "{text}");
    }
}

/// The compiler checks the valid parts in the same build as it reports the mistakes.
#[test]
fn rejected_tools_keep_their_valid_parts() {
    let attr = |errors: &Errors| ToolAttr::parse(TokenStream::new(), errors);
    let kept = |item: &str| {
        let errors = Errors::new();
        let function = syn::parse_str(item).unwrap();
        let raw = RawTool::read(Place::Free, function, attr(&errors), &errors);
        let parts = validate(raw, errors).err().unwrap().parts;
        let params = parts.params.iter().map(|param| param.ident.to_string());
        let params: Vec<String> = params.collect();
        (params.join(" "), parts.output.is_some(), parts.has_struct)
    };
    for (item, params, has_output, has_struct) in [
        ("async fn act(a: u8, b: u8) {}", "a b", true, true),
        ("/// A.\nasync fn act(a: &u8, b: u8) -> &u8 {}", "b", false, true),
        (
            "async fn act(#[arg(range = 1)] a: u8, #[arg(range = 2..1)] b: u8, c: u8) {}",
            "c",
            true,
            true,
        ),
        ("fn act(a: u8) -> u8 {}", "a", false, true),
        ("async fn act<T>(a: T) -> T {}", "", false, true),
        ("/// A.\nasync fn act(&self, a: u8) {}", "a", true, false),
        ("/// A.\nasync fn u8(a: u8) {}", "a", true, false),
    ] {
        assert_eq!(kept(item), (params.to_owned(), has_output, has_struct), "{item}");
    }
}

/// rustc accepts two parameters with one name if a macro emitted one of them, and would build the stub.
#[test]
fn stub_without_a_message_does_not_compile() {
    for (text, has_net) in [
        ("/// Acts.\nasync fn act(a: u8, a: u8) {}", true),
        ("/// Acts.\nasync fn act(a) {}", true),
        ("/// Acts.\nasync fn act() -> &u8 {}", true),
        ("/// Acts.\nasync fn act(a: &u8) {}", false),
    ] {
        let expanded = crate::tool::tool(TokenStream::new(), &text.parse().unwrap()).to_string();
        assert_eq!(
            expanded.contains("const { :: core :: panic !"),
            has_net,
            "{expanded}"
        );
        assert_eq!(expanded.contains("compile_error"), !has_net, "{expanded}");
    }
}

/// `_x` marks an unused parameter, but the model would read that name.
#[test]
fn rejects_names_with_an_underscore_that_the_model_would_see() {
    for (attr, param, offered) in [
        ("", "/// A.\n _count: u8", Some("count")),
        ("", "/// A.\n __count: u8", Some("count")),
        ("", "#[arg(description = \"A.\")] _count: u8", Some("count")),
        (
            "rename_all = \"kebab-case\"",
            "/// A.\n _most_of: u8",
            Some("most-of"),
        ),
        ("rename_all = \"camelCase\"", "/// A.\n _most_of: u8", None),
        ("", "/// A.\n __: u8", Some("..")),
        ("", "/// A.\n #[arg(name = \"_count\")] _count: u8", None),
        ("", "_context: Context", None),
    ] {
        let item = format!("/// Acts.\nasync fn act({param}) {{}}");
        let expanded = crate::tool::tool(attr.parse().unwrap(), &item.parse().unwrap()).to_string();
        match offered {
            Some(name) => {
                let offer = format!(r#"write `#[arg(name = \"{name}\")]`"#);
                assert!(expanded.contains(&offer), "{offer} is not in {expanded}");
            }
            None => assert!(!expanded.contains("compile_error"), "{expanded}"),
        }
    }
}

fn cases_in(folder: &str) -> impl Iterator<Item = PathBuf> {
    let is_case = |path: &PathBuf| {
        let name = path.to_string_lossy();
        name.ends_with(".rs") && !name.ends_with(".expanded.rs")
    };
    fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(is_case)
}

/// Returns the file with each annotated item expanded.
fn expanded(path: &Path) -> String {
    let source = fs::read_to_string(path).unwrap();
    let file = syn::parse_file(&source).unwrap();
    let items: TokenStream = file.items.into_iter().map(expand).collect();
    prettyplease::unparse(&syn::parse2(items).unwrap())
}

fn expand(mut item: Item) -> TokenStream {
    let attrs = match &mut item {
        Item::Fn(item) => &mut item.attrs,
        Item::Impl(item) => &mut item.attrs,
        Item::Struct(item) => &mut item.attrs,
        _ => return item.into_token_stream(),
    };
    let Some(place) = attrs.iter().position(is_ours) else {
        return item.into_token_stream();
    };
    let attr = attrs.remove(place);
    let arguments = match &attr.meta {
        Meta::List(list) => list.tokens.clone(),
        _ => TokenStream::new(),
    };
    let item = item.into_token_stream();
    if attr.path().is_ident("tool") {
        crate::tool::tool(arguments, &item)
    } else {
        crate::tools::tools(arguments, &item)
    }
}

fn is_ours(attr: &Attribute) -> bool {
    attr.path().is_ident("tool") || attr.path().is_ident("tools")
}

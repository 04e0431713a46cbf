//! The document of the service, written from the types that the handlers read and answer with.
//!
//! `openapi.json` is what is served: the test here holds it to the types, and `CORRAL_WRITE_OPENAPI=1 cargo test -p corral-serve --lib
//! openapi` writes it. `tests/it/openapi.rs` holds what the service answers to it.

use corral_log::Change;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, json_schema};
use serde_json::{Map, Value, json};

use super::body::{
    Accepted, Bands, Bases, ChangeBase, Changed, Choose, Chosen, Done, Each, Error, Health, Readiness, Reward,
};
use super::show::Report;

/// A reward is brought by a token or by an id.
pub(super) fn token_or_id(schema: &mut Schema) {
    let one = |key: &str| json!({ "required": [key], "properties": { key: { "type": "string" } } });
    schema.insert("oneOf".into(), json!([one("token"), one("id")]));
}

/// The words for changes of bases.
pub(super) fn changes(_: &mut SchemaGenerator) -> Schema {
    let all = [Change::Add, Change::Retire, Change::Replace, Change::Reinstate];
    // One that is new does not compile until it stands above.
    all.iter().for_each(|change| match change {
        Change::Add | Change::Retire | Change::Replace | Change::Reinstate => {}
    });
    json_schema!({ "enum": all })
}

/// Leaves out how numbers are kept, and what is not there by default.
fn plain(schema: &mut Schema) {
    for key in ["format", "maximum", "default"] {
        schema.remove(key);
    }
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.replace('\n', " ");
    }
}

/// Why a request is refused, by status.
const REFUSALS: [(u16, &str); 9] = [
    (401, "No bearer token, or an unknown one."),
    (403, "The bearer token does not have the role."),
    (404, "There is no such band, or no ticket under this id."),
    (409, "The decision was rewarded already."),
    (410, "The decision is too old."),
    (413, "The body is too large."),
    (422, "The request cannot be: the text says why."),
    (429, "The client sent more requests, or gave more rewards, than it may."),
    (503, "The store failed, or too much waits, or too many connections are open: try again."),
];

/// Writes the schemas of requests, of answers, and of what both refer to.
struct Writer {
    requests: SchemaGenerator,
    answers: SchemaGenerator,
}

/// One path and method.
struct Operation(Map<String, Value>);

fn done(status: u16, what: &str, kind: &str, schema: impl Into<Value>) -> (String, Value) {
    let content = json!({ kind: { "schema": schema.into() } });
    (status.to_string(), json!({ "description": what, "content": content }))
}

impl Operation {
    fn new(summary: &str, answers: impl IntoIterator<Item = (String, Value)>, refusals: &[u16]) -> Self {
        let mut responses: Map<String, Value> = answers.into_iter().collect();
        for status in refusals.iter().chain(&[503]) {
            let reference = json!({ "$ref": format!("#/components/responses/{status}") });
            responses.entry(status.to_string()).or_insert(reference);
        }
        let mut fields = Map::new();
        fields.insert("summary".into(), summary.into());
        fields.insert("responses".into(), responses.into());
        Self(fields)
    }

    fn with(mut self, parameter: Value) -> Self {
        let parameters = self.0.entry("parameters").or_insert_with(|| json!([]));
        parameters.as_array_mut().unwrap().push(parameter);
        self
    }

    /// Of one band.
    fn of_band(self) -> Self {
        let schema = json!({ "type": "string" });
        self.with(json!({ "name": "name", "in": "path", "required": true, "schema": schema, "description": "The name of the band." }))
    }

    fn asked(self, name: &str, values: &[&str], what: &str) -> Self {
        self.with(json!({ "name": name, "in": "query", "schema": { "enum": values }, "description": what }))
    }

    fn reads(mut self, schema: Schema) -> Self {
        let content = json!({ "application/json": { "schema": schema } });
        self.0.insert("requestBody".into(), json!({ "required": true, "content": content }));
        self
    }
}

impl Writer {
    fn new() -> Self {
        let settings = || {
            let settings = SchemaSettings::draft2020_12().with_transform(RecursiveTransform(plain));
            settings.with(|s| s.definitions_path = "/components/schemas".into())
        };
        Self {
            requests: settings().for_deserialize().into_generator(),
            answers: settings().for_serialize().into_generator(),
        }
    }

    fn request<T: JsonSchema>(&mut self) -> Schema {
        self.requests.subschema_for::<T>()
    }

    fn answer<T: JsonSchema>(&mut self) -> Schema {
        self.answers.subschema_for::<T>()
    }

    fn json<T: JsonSchema>(&mut self, status: u16, what: &str) -> (String, Value) {
        done(status, what, "application/json", self.answer::<T>())
    }

    fn paths(&mut self) -> Value {
        const READ: &[u16] = &[401, 403, 429];
        const OF_BAND: &[u16] = &[401, 403, 404, 429];
        const ASKED: &[u16] = &[401, 403, 404, 422, 429];
        const SENT: &[u16] = &[401, 403, 404, 413, 422, 429];
        const GIVEN: &[u16] = &[401, 403, 404, 409, 410, 413, 422, 429];
        let text = || json!({ "type": "string" });
        let get = |operation: Operation| json!({ "get": operation.0 });
        let post = |operation: Operation| json!({ "post": operation.0 });

        let page = Operation::new("A page to look at.", [done(200, "The page.", "text/html", text())], &[]);
        let health =
            Operation::new("Whether the process answers.", [self.json::<Health>(200, "It does.")], &[]);
        let busy = json!({ "anyOf": [self.answer::<Readiness<'_>>(), self.answer::<Error>()] });
        let readiness = [
            self.json::<Readiness<'_>>(200, "All are."),
            done(503, "Which is not, and why; or too many connections are open.", "application/json", busy),
        ];
        let ready = Operation::new("Whether every band is ready.", readiness, &[]);
        let metrics =
            Operation::new("Metrics for Prometheus.", [done(200, "Metrics.", "text/plain", text())], READ);
        let document = done(200, "The document.", "application/json", json!({ "type": "object" }));
        let document = Operation::new("This document.", [document], &[]);
        let bands = Operation::new("The bands.", [self.json::<Bands<'_>>(200, "Their names.")], READ);
        let choose = Operation::new("Decide.", [self.json::<Chosen>(200, "The decision.")], SENT);
        let every = self.json::<Vec<Each<Chosen>>>(200, "A decision or an error for each.");
        let choose_all = Operation::new("Decide for many.", [every], SENT);
        let reward = Operation::new(
            "Give the reward of a decision: it is in the store when this is answered.",
            [self.json::<Done>(200, "It is in the store.")],
            GIVEN,
        );
        let every = self.json::<Vec<Each<Done>>>(200, "A status for each.");
        let reward_all = Operation::new("Give the rewards of many decisions.", [every], SENT);
        let (status, mut shown) = self.json::<Report>(200, "The report.");
        for kind in ["text/html", "text/plain"] {
            shown["content"][kind] = json!({ "schema": text() });
        }
        let report = Operation::new("What the band plays and why.", [(status, shown)], ASKED);
        let bases = Operation::new("The bases.", [self.json::<Bases>(200, "The bases.")], OF_BAND);
        let changed = [
            self.json::<Changed>(200, "It holds."),
            self.json::<Accepted>(202, "It is written, and the learner has not come to it yet."),
        ];
        let change = Operation::new("Have a base join, leave or come back.", changed, SENT);
        let log = Operation::new(
            "The decision log: rewards with their decisions, in the order in which they were learned; or all decisions as they were made.",
            [done(200, "Lines of JSON.", "application/jsonl", text())],
            ASKED,
        );
        let mut of_bases = get(bases.of_band());
        let change = change.of_band().reads(self.request::<ChangeBase>());
        of_bases["post"] = change.0.into();
        let formats = ["json", "html", "text"];
        let history = json!({
            "name": "history", "in": "query", "schema": { "type": "integer", "minimum": 0, "maximum": super::LATEST },
            "description": "Milliseconds since 1970: the report has what the bases were after that time; 0: since the service began."
        });
        let of = "Decisions, where the spec has log_decisions = true. Else rewards.";
        json!({
            "/": get(page),
            "/health": get(health),
            "/ready": get(ready),
            "/metrics": get(metrics),
            "/openapi.json": get(document),
            "/v1/bands": get(bands),
            "/v1/bands/{name}/choose": post(choose.of_band().reads(self.request::<Choose>())),
            "/v1/bands/{name}/choose/batch": post(choose_all.of_band().reads(self.request::<Vec<Choose>>())),
            "/v1/bands/{name}/reward": post(reward.of_band().reads(self.request::<Reward>())),
            "/v1/bands/{name}/reward/batch": post(reward_all.of_band().reads(self.request::<Vec<Reward>>())),
            "/v1/bands/{name}/report": get(report.of_band().asked("format", &formats, "Else by the header Accept.").with(history)),
            "/v1/bands/{name}/bases": of_bases,
            "/v1/bands/{name}/log": get(log.of_band().asked("of", &["rewards", "decisions"], of)),
        })
    }

    fn document(mut self) -> Value {
        let paths = self.paths();
        let refusals = REFUSALS.map(|(status, what)| {
            done(status, what, "application/json", self.answers.subschema_for::<Error>())
        });
        let mut schemas = self.requests.take_definitions(true);
        for (name, schema) in self.answers.take_definitions(true) {
            assert!(!schemas.contains_key(&name), "{name} is asked with and answered");
            schemas.insert(name, schema);
        }
        json!({
            "openapi": "3.1.0",
            "info": {
                "title": "Corral", "version": "1",
                "description": "Decisions of a band of bandit algorithms, and rewards for them. docs/serving.md says what is promised.",
            },
            "security": [{}, { "bearer": [] }],
            "paths": paths,
            "components": {
                "securitySchemes": { "bearer": { "type": "http", "scheme": "bearer" } },
                "responses": refusals.into_iter().collect::<Map<_, _>>(),
                "schemas": schemas,
            },
        })
    }
}

/// As JSON, with a line for every entry of the objects of the first levels: it is part of the program.
fn lines(value: &Value, levels: usize) -> String {
    let Some(object) = value.as_object().filter(|_| levels > 0) else { return value.to_string() };
    let entry = |(key, value): (&String, &Value)| format!("{}:{}", json!(key), lines(value, levels - 1));
    format!("{{\n{}\n}}", object.iter().map(entry).collect::<Vec<_>>().join(",\n"))
}

#[test]
fn the_document_is_what_the_types_say() {
    let written = Writer::new().document();
    if std::env::var_os("CORRAL_WRITE_OPENAPI").is_some() {
        let text = lines(&written, 3);
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/src/http/openapi.json"), text).unwrap();
    }
    let found: Value = serde_json::from_str(super::OPENAPI).unwrap();
    assert!(
        found == written,
        "openapi.json is not what the types say: CORRAL_WRITE_OPENAPI=1 cargo test -p corral-serve --lib openapi writes it"
    );
}

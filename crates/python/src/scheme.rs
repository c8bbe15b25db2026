//! Schemes written in Python.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use firstflight::scheme::{
    Ack, Beginning, Congestion, Control, Declaration, Declared, Entry, Exit, Info, Lost, Phase, Role, Scheme,
    Schemes, Sent, Signals, Step, Value,
};
use firstflight::{Candidate, Error, Profile};
use firstflight_bpf::KernelScheme;
use firstflight_document::quoted;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};

use crate::error::raised;
use crate::events;
use crate::job::{Job, held};
use crate::quantity::of_type;

/// A class in Python as a scheme. Every connection has an object of its own.
pub(crate) struct PythonScheme {
    made: &'static Listing,
    /// The class, or the object of which each connection has a copy.
    source: Arc<Py<PyAny>>,
    object: Option<Object>,
    stop: Arc<AtomicBool>,
    exception: Arc<Mutex<Option<PyErr>>>,
}

/// The object of one connection.
struct Object {
    object: Py<PyAny>,
    on_ack: Py<PyAny>,
    control: Py<events::Control>,
}

/// Entry of a scheme in the list of schemes, and its declaration. Listings live as long as the process; a class that is given
/// again has the same one.
struct Listing {
    info: Info,
    declaration: Declaration,
}

/// Attributes of a class, from which its listing is made.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Attributes {
    label: String,
    role: Role,
    needs: u32,
    source: String,
    summary: String,
}

fn listing(of: Attributes) -> &'static Listing {
    static LISTINGS: Mutex<BTreeMap<Attributes, &'static Listing>> = Mutex::new(BTreeMap::new());
    let mut listings = held(&LISTINGS);
    listings.entry(of.clone()).or_insert_with(|| {
        let leaked = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
        let (label, needs) = (leaked(&of.label), Signals(of.needs));
        // A whole scheme rules from the first packet.
        let beginning = if of.role == Role::Standalone { Beginning::Alone } else { Beginning::Startup };
        let declaration = Declaration { needs, beginning, ..Declaration::new(label, of.role) };
        let (source, summary) = (leaked(&of.source), leaked(&of.summary));
        let info = Info { label, role: of.role, source, summary, needs, params: &[] };
        Box::leak(Box::new(Listing { info, declaration }))
    })
}

/// Every signal with its name.
pub(crate) fn signals() -> impl Iterator<Item = (Signals, &'static str)> {
    (0..32).map(|bit| Signals(1 << bit)).filter_map(|signal| Some((signal, signal.names().next()?)))
}

impl Attributes {
    /// Reads the attributes of a class or of its object.
    fn read(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let class = match object.cast::<PyType>() {
            Ok(class) => class.clone(),
            Err(_) => object.get_type(),
        };
        let name = class.name()?.to_string();
        let wrong = |what: &str, expected: &str| raised(format!("{name}: {what}; expected {expected}"));
        for method in ["on_ack", "on_congestion"] {
            let callable = object.getattr_opt(method)?.is_some_and(|method| method.is_callable());
            if !callable {
                return Err(wrong(
                    &format!("{method} is missing"),
                    "a method of this name, as in docs/python.md",
                ));
            }
        }
        let text = |attribute: &str| -> PyResult<Option<String>> {
            let value = object.getattr_opt(attribute)?.filter(|value| !value.is_none());
            let wrong = || wrong(&format!("{attribute} is not a text"), "a text");
            value.map(|value| value.extract().map_err(|_| wrong())).transpose()
        };
        let label =
            text("label")?.ok_or_else(|| wrong("label is missing", "a label such as \"my-start\""))?;
        let role = match text("role")?.as_deref() {
            None => Role::Startup,
            Some(word) => Role::ALL.into_iter().find(|role| role.label() == word).ok_or_else(|| {
                let words = Role::ALL.map(Role::label);
                raised(Error::unknown_name("role", word, words).in_file(&name, None))
            })?,
        };
        let needs = match object.getattr_opt("needs")? {
            None => vec![],
            Some(needs) if needs.is_instance_of::<PyString>() => {
                return Err(wrong("needs is a text", "a list of signals, such as [\"rtt-per-ack\"]"));
            }
            Some(needs) => needs.extract::<Vec<String>>()?,
        };
        let needs = needs.iter().try_fold(0, |all, need| {
            let found = signals().find(|(_, name)| name == need);
            let names = || signals().map(|(_, name)| name);
            found.map(|(signal, _)| all | signal.0).ok_or_else(|| {
                let names: Vec<&str> = names().collect();
                raised(Error::unknown_name("signal", need, names).in_file(&name, None))
            })
        })?;
        let doc = text("__doc__")?.unwrap_or_default();
        let summary = doc.trim().lines().next().unwrap_or_default().trim_end_matches('.').to_owned();
        let source = text("source")?.unwrap_or_else(|| "a class in Python".into());
        Ok(Self { label, role, needs, source, summary })
    }
}

/// The schemes of one call: the built-in ones and the classes that are given.
#[derive(Clone)]
pub(crate) struct Chosen {
    /// All schemes.
    pub(crate) catalogue: Schemes,
    /// The chains of labels, in order.
    pub(crate) chains: Vec<String>,
    /// Schemes from BPF objects.
    objects: Vec<KernelScheme>,
}

impl Chosen {
    /// Reads a list of chains of labels and of classes. A start-up class stands for the chain that it begins before `avoidance`, an
    /// avoidance class for its chain after slow start.
    pub(crate) fn read(given: &[Bound<'_, PyAny>], avoidance: &str, job: &Job) -> PyResult<Self> {
        let mut all = Self { catalogue: Schemes::built_in(), chains: vec![], objects: vec![] };
        for scheme in given {
            if let Ok(chain) = scheme.cast::<PyString>() {
                all.chains.push(chain.to_string());
                continue;
            }
            if scheme.is_none() || scheme.getattr_opt("on_ack")?.is_none() {
                let expected = "a chain of labels such as \"slow-start+cubic\", or a class with label, on_ack and on_congestion";
                return Err(raised(of_type(scheme, expected).at_key("schemes")));
            }
            let made = listing(Attributes::read(scheme)?);
            let Info { label, role, .. } = made.info;
            let scheme = PythonScheme {
                made,
                source: Arc::new(scheme.clone().unbind()),
                object: None,
                stop: Arc::clone(&job.stop),
                exception: Arc::clone(&job.exception),
            };
            job.calls_python.store(true, Ordering::Relaxed);
            all.catalogue = all.catalogue.with(scheme).map_err(raised)?;
            all.chains.push(match role {
                Role::Startup => format!("{label}+{avoidance}"),
                Role::Avoidance => format!("slow-start+{label}"),
                Role::Standalone => label.into(),
            });
        }
        Ok(all)
    }

    /// The same with the congestion controls of BPF objects, under their own names: bpf_cubic is the scheme bpf-cubic.
    pub(crate) fn with_objects(mut self, files: &[PathBuf]) -> PyResult<Self> {
        for file in files {
            let wrong = |why: String| {
                raised(Error::invalid(why).at_key("bpf").with_value(quoted(&file.display().to_string())))
            };
            for scheme in firstflight_bpf::open(file).map_err(wrong)? {
                self.catalogue =
                    self.catalogue.with(scheme.clone()).map_err(|error| wrong(error.to_string()))?;
                self.objects.push(scheme);
            }
        }
        Ok(self)
    }

    /// Fails if a scheme of an object stopped: a run with it has no result.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match self.objects.iter().find_map(KernelScheme::stopped) {
            Some(stopped) => Err(Error::invalid(stopped.to_string())),
            None => Ok(()),
        }
    }

    /// The candidates of the chains on the stack of `profile`, in order.
    pub(crate) fn parsed(&self, profile: Profile) -> Result<Vec<Candidate>, Error> {
        let parse = |chain: &String| {
            let parsed = Candidate::parse_on(chain, &self.catalogue, profile);
            parsed.map_err(|error| error.at_key("schemes").with_value(quoted(chain)))
        };
        self.chains.iter().map(parse).collect()
    }

    /// The candidates of the chains, each once.
    pub(crate) fn candidates(&self, profile: Profile) -> Result<Vec<Candidate>, Error> {
        let mut distinct: Vec<Candidate> = vec![];
        for candidate in self.parsed(profile)? {
            if !distinct.contains(&candidate) {
                distinct.push(candidate);
            }
        }
        Ok(distinct)
    }
}

impl PythonScheme {
    /// Calls Python; after an exception, the run is ended and Python no more called.
    fn call<T>(&mut self, otherwise: T, call: impl FnOnce(&mut Self, Python<'_>) -> PyResult<T>) -> T {
        if self.stop.load(Ordering::Relaxed) {
            return otherwise;
        }
        Python::attach(|py| match call(self, py) {
            Ok(answer) => answer,
            Err(error) => {
                held(&self.exception).get_or_insert(error);
                self.stop.store(true, Ordering::Relaxed);
                otherwise
            }
        })
    }

    /// The connection's object, made on the first call.
    fn object(&mut self, py: Python<'_>) -> PyResult<&Object> {
        if self.object.is_none() {
            let source = self.source.bind(py);
            let object = match source.cast::<PyType>() {
                Ok(class) => class.call0()?,
                Err(_) => deep_copy(source)?,
            };
            self.object = Some(Object::new(object)?);
        }
        Ok(self.object.as_ref().expect("made above"))
    }

    /// Calls an optional method with an event and the registers.
    fn tell<'py>(
        &mut self,
        py: Python<'py>,
        method: &str,
        event: impl IntoPyObject<'py>,
        control: &mut Control,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let object = self.object(py)?;
        let Some(method) = object.object.bind(py).getattr_opt(method)? else { return Ok(None) };
        object.answer(py, &method, event, control).map(Some)
    }

    /// The step that a method answered.
    fn step(&self, method: &str, answer: &Bound<'_, PyAny>) -> PyResult<Step> {
        if answer.is_none() {
            return Ok(Step::Stay);
        }
        let label = self.made.info.label;
        let reasons = Exit::ALL.map(Exit::label);
        let Ok(word) = answer.cast::<PyString>() else {
            let found = answer.get_type().name()?;
            let reasons = reasons.join(", ");
            return Err(raised(format!(
                "{label}.{method}: the answer is of type {found}; expected None, or the reason of the exit, one of: {reasons}"
            )));
        };
        let word = word.to_cow()?;
        // The phase is over for the record while its first flight is under way.
        let (word, over) = match word.strip_prefix("over:") {
            Some(reason) => (reason.trim_start(), true),
            None => (&*word, false),
        };
        match Exit::ALL.into_iter().find(|exit| exit.label() == word) {
            Some(exit) if self.made.info.role == Role::Startup => {
                Ok(if over { Step::Over(exit) } else { Step::Exit(exit) })
            }
            Some(_) => Err(raised(format!(
                "{label}.{method}: the answer is an exit; expected None from a scheme of the role {}, which never ends",
                self.made.info.role.label()
            ))),
            None => Err(raised(
                Error::unknown_name("reason of an exit", word, reasons)
                    .in_file(&format!("{label}.{method}"), None),
            )),
        }
    }
}

impl Object {
    fn new(object: Bound<'_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        let on_ack = object.getattr("on_ack")?.unbind();
        let control = Py::new(py, events::Control::of(&Control::default()))?;
        Ok(Self { object: object.unbind(), on_ack, control })
    }

    /// Calls a method with an event and the registers, and takes the registers back.
    fn answer<'py>(
        &self,
        py: Python<'py>,
        method: &Bound<'py, PyAny>,
        event: impl IntoPyObject<'py>,
        control: &mut Control,
    ) -> PyResult<Bound<'py, PyAny>> {
        *self.control.borrow_mut(py) = events::Control::of(control);
        let answer = method.call1((event, self.control.bind(py)))?;
        *control = self.control.borrow(py).register();
        Ok(answer)
    }
}

fn deep_copy<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    object.py().import("copy")?.call_method1("deepcopy", (object,))
}

impl Clone for PythonScheme {
    /// The same scheme; a connection's object is copied with its state.
    fn clone(&self) -> Self {
        let mut copy = Self {
            made: self.made,
            source: Arc::clone(&self.source),
            object: None,
            stop: Arc::clone(&self.stop),
            exception: Arc::clone(&self.exception),
        };
        if let Some(own) = &self.object {
            copy.object = copy.call(None, |_, py| Object::new(deep_copy(own.object.bind(py))?).map(Some));
        }
        copy
    }
}

impl fmt::Debug for PythonScheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Two classes with one label differ in their address.
        f.debug_struct("PythonScheme")
            .field("label", &self.made.info.label)
            .field("class", &self.source.as_ptr())
            .finish_non_exhaustive()
    }
}

impl Declared for PythonScheme {
    fn declaration(&self) -> &'static Declaration {
        &self.made.declaration
    }
}

impl Scheme for PythonScheme {
    fn info(&self) -> &'static Info {
        &self.made.info
    }

    fn set(&mut self, name: &str, _: Value) {
        unreachable!(
            "{} has no parameter {name}: an object of the class has its values",
            self.made.info.label
        )
    }
}

impl Phase for PythonScheme {
    fn open(&mut self, entry: &Entry, control: &mut Control) {
        self.call((), |own, py| own.tell(py, "open", events::Entry::from(entry), control).map(|_| ()));
    }

    fn enter(&mut self, entry: &Entry, control: &mut Control) {
        self.call((), |own, py| own.tell(py, "enter", events::Entry::from(entry), control).map(|_| ()));
    }

    fn on_sent(&mut self, sent: &Sent, control: &mut Control) {
        self.call((), |own, py| own.tell(py, "on_sent", events::Sent::from(sent), control).map(|_| ()));
    }

    fn on_lost(&mut self, lost: &Lost, control: &mut Control) {
        self.call((), |own, py| own.tell(py, "on_lost", events::Lost::from(lost), control).map(|_| ()));
    }

    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        self.call(Step::Stay, |own, py| {
            let object = own.object(py)?;
            let answer = object.answer(py, object.on_ack.bind(py), events::Ack::from(ack), control)?;
            own.step("on_ack", &answer)
        })
    }

    fn on_congestion(&mut self, event: &Congestion, control: &mut Control) -> Step {
        self.call(Step::Stay, |own, py| {
            let answer = own.tell(py, "on_congestion", events::Congestion::from(event), control)?;
            answer.map_or(Ok(Step::Stay), |answer| own.step("on_congestion", &answer))
        })
    }

    fn on_spurious(&mut self) {
        self.call((), |own, py| {
            let object = own.object(py)?.object.bind(py);
            match object.getattr_opt("on_spurious")? {
                Some(method) => method.call0().map(|_| ()),
                None => Ok(()),
            }
        });
    }
}

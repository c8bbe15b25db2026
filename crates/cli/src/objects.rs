//! The option `--bpf` of the commands that run schemes: congestion controls of the kernel, from BPF objects.

use std::path::PathBuf;

use clap::Args;
use firstflight_bpf::KernelScheme;
use firstflight_document::clipped;
use firstflight_schemes::catalogue::Schemes;

use crate::failure::{Failure, wrong_at};
use crate::keys::option;

/// The objects.
#[derive(Debug, Args)]
pub(crate) struct Objects {
    /// BPF object with congestion controls of the Linux kernel (struct tcp_congestion_ops), which become schemes under
    /// their own names: bpf_cubic is the scheme bpf-cubic. Needs profile linux
    #[arg(long = "bpf", value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// The schemes of the objects, beside the built-in ones.
pub(crate) struct Known {
    /// All schemes.
    pub(crate) catalogue: Schemes,
    /// Those of the objects.
    schemes: Vec<KernelScheme>,
}

impl Objects {
    /// Reads the objects.
    pub(crate) fn read(&self) -> Result<Known, Failure> {
        let mut known = Known { catalogue: Schemes::built_in(), schemes: vec![] };
        for file in &self.files {
            let place = option("bpf", Some(&clipped(&file.display().to_string())));
            let wrong = |why: &dyn std::fmt::Display| Failure::from(wrong_at(&place, why));
            for scheme in firstflight_bpf::open(file).map_err(|error| wrong(&error))? {
                known.catalogue = known.catalogue.with(scheme.clone()).map_err(|error| wrong(&error))?;
                known.schemes.push(scheme);
            }
        }
        Ok(known)
    }
}

impl Known {
    /// Fails if a scheme of an object stopped: a run with it has no result.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match self.schemes.iter().find_map(KernelScheme::stopped) {
            Some(stopped) => Err(Failure::new(stopped)),
            None => Ok(()),
        }
    }
}

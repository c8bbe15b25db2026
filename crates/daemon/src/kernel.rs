//! The gateway's use of the kernel.

use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use firstflight_gateway::{Connection, Live, Override, Plan, TransferPlan};
use firstflight_hooks::Hooks;
use firstflight_paths::Prefix;
use serde_json::Value;

/// A kernel that reports connections and starts them by plans. Errors are one line for the operator. By default it only reports, and
/// starts no connection.
pub trait Kernel: Send {
    /// Shows the connections reported since the last call, without a wait.
    ///
    /// # Errors
    /// If the kernel does not let the reports be read.
    fn drain(&mut self, each: &mut dyn FnMut(Connection)) -> Result<(), String>;

    /// Has the connections reported that are older than this program; answers with their number.
    ///
    /// # Errors
    /// If the kernel refuses.
    fn adopt(&mut self) -> Result<usize, String> {
        Ok(0)
    }

    /// Prepares the connections that are idle, so that their next data start as planned.
    ///
    /// # Errors
    /// If the kernel refuses.
    fn prepare_idle(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// Puts a plan in force.
    ///
    /// # Errors
    /// If the kernel has no room or refuses.
    fn set(&mut self, _plan: &Plan) -> Result<(), String> {
        Ok(())
    }

    /// Keeps the start for the next transfer of the socket with this cookie, which its owner then has applied.
    ///
    /// # Errors
    /// If this kernel has no such starts or refuses.
    fn transfer(&mut self, _cookie: u64, _plan: &TransferPlan) -> Result<(), String> {
        Err("this gateway starts no connection".to_owned())
    }

    /// Ends the plan of a prefix, if there is one.
    ///
    /// # Errors
    /// If the kernel refuses.
    fn remove(&mut self, _prefix: &Prefix) -> Result<(), String> {
        Ok(())
    }

    /// Sets or ends an order of the operator.
    ///
    /// # Errors
    /// If the kernel has no room or refuses.
    fn order(&mut self, _prefix: &Prefix, _order: Option<Override>) -> Result<(), String> {
        Ok(())
    }

    /// Shows that this program lives; without it, plans are not used.
    ///
    /// # Errors
    /// If the kernel refuses.
    fn renew(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// Starts every connection as the stack does, or ends that.
    ///
    /// # Errors
    /// If the kernel refuses.
    fn stop(&mut self, _stopped: bool) -> Result<(), String> {
        Ok(())
    }

    /// Limits plans and orders to connections with one of these local ports, and to sockets of these cgroups; an empty list limits nothing.
    ///
    /// # Errors
    /// If this kernel has no such limits, a folder is no cgroup, or the kernel refuses.
    fn limit_to(&mut self, ports: &[u16], cgroups: &[String]) -> Result<(), String> {
        match ports.is_empty() && cgroups.is_empty() {
            true => Ok(()),
            false => {
                Err("this mechanism cannot limit plans to ports or cgroups; expected neither".to_owned())
            }
        }
    }

    /// Largest first window of an order that it gives, segments.
    fn widest(&self) -> u32 {
        u32::MAX
    }

    /// Number of reports for which there was no room.
    ///
    /// # Errors
    /// If the kernel refuses.
    fn lost(&mut self) -> Result<u64, String> {
        Ok(0)
    }

    /// Connections that ended after another program had taken the callbacks by which they are measured, and plans that were not used because
    /// a route or another program had chosen the first window.
    ///
    /// # Errors
    /// If the kernel refuses.
    fn yields(&mut self) -> Result<(u64, u64), String> {
        Ok((0, 0))
    }

    /// Connections of the prefix around an address; `None` where they are not counted.
    fn live(&mut self, _address: IpAddr) -> Option<Live> {
        None
    }

    /// Live connections in all, as they were counted of late; `None` where they are not counted.
    fn live_connections(&mut self) -> Option<u64> {
        None
    }

    /// One word for the way by which it starts connections.
    fn mechanism(&self) -> &'static str {
        "none"
    }

    /// Counts of what it watches besides, for `status`.
    fn counts(&mut self) -> Value {
        Value::Null
    }
}

impl Kernel for Hooks {
    fn drain(&mut self, each: &mut dyn FnMut(Connection)) -> Result<(), String> {
        Self::drain(self, Duration::ZERO, each).map(drop).map_err(line)
    }

    fn adopt(&mut self) -> Result<usize, String> {
        Self::adopt(self).map_err(line)
    }

    fn prepare_idle(&mut self) -> Result<(), String> {
        Self::prepare_idle(self).map(drop).map_err(line)
    }

    fn set(&mut self, plan: &Plan) -> Result<(), String> {
        Self::set(self, plan).map_err(line)
    }

    fn transfer(&mut self, cookie: u64, plan: &TransferPlan) -> Result<(), String> {
        Self::transfer(self, cookie, &plan.plan, plan.rate).map_err(line)
    }

    fn remove(&mut self, prefix: &Prefix) -> Result<(), String> {
        Self::remove(self, prefix).map(drop).map_err(line)
    }

    fn order(&mut self, prefix: &Prefix, order: Option<Override>) -> Result<(), String> {
        let order = order.map(|order| match order {
            Override::Window(window) => firstflight_hooks::Override::Fixed(window),
            Override::Freeze => firstflight_hooks::Override::Freeze,
            Override::Off => firstflight_hooks::Override::Off,
        });
        self.set_override(prefix, order).map_err(line)
    }

    fn renew(&mut self) -> Result<(), String> {
        Self::renew(self).map_err(line)
    }

    fn stop(&mut self, stopped: bool) -> Result<(), String> {
        if stopped { Self::stop(self) } else { self.resume() }.map_err(line)
    }

    fn limit_to(&mut self, ports: &[u16], cgroups: &[String]) -> Result<(), String> {
        let cgroups: Result<Vec<_>, _> =
            cgroups.iter().map(|folder| firstflight_hooks::number_of(Path::new(folder))).collect();
        Self::limit_to(self, ports, &cgroups.map_err(line)?).map_err(line)
    }

    fn lost(&mut self) -> Result<u64, String> {
        Self::lost(self).map_err(line)
    }

    fn yields(&mut self) -> Result<(u64, u64), String> {
        Ok((self.taken().map_err(line)?, self.other_windows().map_err(line)?))
    }

    fn live(&mut self, address: IpAddr) -> Option<Live> {
        Self::live(self, address).ok()
    }

    fn live_connections(&mut self) -> Option<u64> {
        Self::live_connections(self)
    }

    fn mechanism(&self) -> &'static str {
        "ebpf"
    }
}

fn line(error: firstflight_hooks::Refusal) -> String {
    error.to_string()
}

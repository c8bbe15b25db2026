//! Changes of a configuration that a running gateway cannot take.

use super::Configuration;
use crate::plan::Limits;
use crate::settings::Settings;

impl Configuration {
    /// Keys and tables whose values differ from those of `other`, and of which a running gateway takes none: they need a restart. Those
    /// that it takes are named by [`Settings::adopt`], and the orders by their prefixes.
    pub fn needs_restart(&self, other: &Self) -> Vec<&'static str> {
        // A new key is named here by the compiler.
        let Self {
            settings,
            limits: Limits { window, ssthresh, lease, holdout },
            orders: _,
            cgroup,
            state,
            socket,
            user,
            read_group,
            admin_group,
            plan_group,
            idle,
            retreat,
            canary: _,
            transfers,
            share,
            site,
            metrics,
        } = self;
        // [`Settings::adopt`] names the others in the same way. The limits have window, threshold and holdout, too.
        let Settings { policy, bits, split, prefixes, .. } = settings;
        let others = (other.settings.bits, other.settings.split, other.settings.prefixes);
        let differs = [
            ("policy", *policy != other.settings.policy),
            ("cgroup", *cgroup != other.cgroup),
            ("state", *state != other.state),
            ("socket", *socket != other.socket),
            ("user", *user != other.user),
            ("read_group", *read_group != other.read_group),
            ("admin_group", *admin_group != other.admin_group),
            ("plan_group", *plan_group != other.plan_group),
            ("prefixes", (*bits, *split, *prefixes) != others),
            ("plan.window", *window != other.limits.window),
            ("plan.ssthresh", *ssthresh != other.limits.ssthresh),
            ("plan.idle", *idle != other.idle),
            ("plan.retreat", *retreat != other.retreat),
            ("plan.lease", *lease != other.limits.lease),
            ("trial.holdout", *holdout != other.limits.holdout),
            ("transfers", *transfers != other.transfers),
            ("share", *share != other.share),
            ("site", *site != other.site),
            ("metrics", *metrics != other.metrics),
        ];
        differs.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key).collect()
    }
}

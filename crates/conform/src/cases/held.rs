//! Checks of cases that are held by the scheme here.

/// Observation of a case that is kept, or of one that is not.
pub(super) type Held = Result<String, String>;

/// Ends a case that is not kept.
macro_rules! hold {
    ($cond:expr $(,)?) => { hold!($cond, "not so: {}", stringify!($cond)) };
    ($cond:expr, $($found:tt)+) => {
        let kept: bool = $cond;
        if !kept {
            return Err(format!($($found)+));
        }
    };
}

/// Ends a case whose values differ.
macro_rules! hold_eq {
    ($left:expr, $right:expr $(, $($found:tt)+)?) => {
        if $left != $right {
            return Err(format!("{} is {:?}; expected {:?}", stringify!($left), $left, $right));
        }
    };
}
pub(super) use {hold, hold_eq};

//! A value that many owners have alike: it is in memory once, until an owner changes its own.

use core::ops::{Deref, DerefMut};
use std::sync::Arc;

/// A value that is read where it is, and copied only by an owner that changes it while others have it too.
#[derive(Clone, Debug, PartialEq)]
pub struct Alike<T>(Arc<T>);

impl<T> From<T> for Alike<T> {
    fn from(value: T) -> Self {
        Self(Arc::new(value))
    }
}

impl<T> Deref for Alike<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for Alike<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_have_one_value_until_one_of_them_changes_its_own() {
        let first = Alike::from(vec![1, 2]);
        let mut second = first.clone();
        assert!(core::ptr::eq(&*first, &*second));
        second.push(3);
        assert_eq!((&*first, &*second), (&vec![1, 2], &vec![1, 2, 3]));
    }
}

//! Tests of BBR v3.

//! Tests of BBR v3.
mod vectors;

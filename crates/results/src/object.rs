//! The macro that declares an object of results once: struct, JSON, columns and documentation come from it.

/// Declares a struct and implements [`Record`](crate::Record) and [`Json`](crate::Json) for it.
///
/// ```text
/// object! {
///     /// Meaning of the object.
///     pub struct Name: Copy = "name in documentation" {
///         /// Meaning of the field.
///         field_s: f64 ["s"],                                   // a column; its numbers are zero or more
///         /// A field with another range: `Share` or `Any`.
///         part: f64 [""; Share],
///         /// A field that is a list of pairs: two columns.
///         at: Vec<(f64, u64)> => pairs("at_s" "s", "at_packets" "packets"),
///         /// A field with a fixed number of numbers: a column for each.
///         range_s: [f64; 2] ["s"] => each("range_s_low", "range_s_high"),
///         /// Another object, whose columns follow with a prefix.
///         inner: Inner => flat("inner_"),
///         /// The same, if there is one.
///         maybe: Option<Inner> => optional("inner_", "Null without one."),
///         /// A field of the JSON object only.
///         list: Vec<Inner> => nested,
///         /// A field with serde's attributes; `skip` keeps a column out of the JSON object.
///         @(skip) hidden: u64,
///     }
/// }
/// ```
macro_rules! object {
    (
        $(#[doc = $doc:literal])+
        pub struct $name:ident $(: $($derive:ident)+)? = $word:literal {
            $(
                $(#[doc = $field_doc:literal])+
                $(@($($serde:tt)*))?
                $field:ident : $type:ty $([$unit:literal $(; $range:ident)?])? $(=> $how:ident $(($($arg:tt)*))?)?,
            )+
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize $($(, $derive)+)?)]
        pub struct $name {
            $(
                $(#[doc = $field_doc])+
                $(#[serde($($serde)*)])?
                pub $field: $type,
            )+
        }

        impl $crate::column::Json for $name {
            fn word() -> String {
                concat!("[", $word, "]").into()
            }
        }

        impl $crate::column::Record for $name {
            const NAME: &'static str = $word;
            const DOC: &'static str = concat!($($doc),+);

            fn fields() -> Vec<$crate::column::Field> {
                let skipped = |serde: &str| serde == "skip";
                let all = [$((
                    skipped(concat!("" $($(, stringify!($serde))*)?)),
                    $crate::column::Field {
                        name: stringify!($field),
                        kind: <$type as $crate::column::Json>::word(),
                        unit: concat!("" $(, $unit)?),
                        doc: concat!($($field_doc),+),
                        nullable: <$type as $crate::column::Json>::NULLABLE,
                        range: $crate::object::range!($($($range)?)?),
                    },
                )),+];
                all.into_iter().filter(|(skipped, _)| !skipped).map(|(_, field)| field).collect()
            }

            #[allow(unused_variables, reason = "an object may have no column")]
            fn columns(columns: &mut Vec<$crate::column::Column>, prefix: &str, absent: Option<&str>) {
                $(
                    $crate::object::columns!(
                        columns, prefix, absent, $type, $field, concat!("" $(, $unit)?), concat!($($field_doc),+),
                        $crate::object::range!($($($range)?)?), $($how $($($arg)*)?)?
                    );
                )+
            }

            #[allow(unused_variables, reason = "an object may have no column")]
            fn cells(row: Option<&Self>, cells: &mut Vec<$crate::column::Value>) {
                $(
                    $crate::object::cells!(cells, row, $type, $field, $($how $($($arg)*)?)?);
                )+
            }
        }
    };
}

/// The range of one field.
macro_rules! range {
    () => {
        $crate::column::Range::Positive
    };
    ($range:ident) => {
        $crate::column::Range::$range
    };
}

/// The columns of one field.
macro_rules! columns {
    ($columns:ident, $prefix:ident, $absent:ident, $type:ty, $field:ident, $unit:expr, $doc:expr, $range:expr,) => {
        $columns.push($crate::column::Column {
            name: format!("{}{}", $prefix, stringify!($field)),
            kind: <$type as $crate::column::Cell>::KIND,
            unit: $unit,
            doc: $crate::object::sentence($doc, $absent),
            nullable: $absent.is_some() || <$type as $crate::column::Cell>::NULLABLE,
            range: $range,
        });
    };
    ($columns:ident, $prefix:ident, $absent:ident, $type:ty, $field:ident, $unit:expr, $doc:expr,
        $range:expr, pairs $first:literal $first_unit:literal, $second:literal $second_unit:literal) => {
        for (name, unit, kind) in [
            ($first, $first_unit, $crate::column::Kind::Reals),
            ($second, $second_unit, $crate::column::Kind::Unsigneds),
        ] {
            let doc = $crate::object::sentence($doc, $absent);
            $columns.push($crate::column::Column {
                name: format!("{}{name}", $prefix),
                kind,
                unit,
                doc,
                nullable: false,
                range: $range,
            });
        }
    };
    ($columns:ident, $prefix:ident, $absent:ident, $type:ty, $field:ident, $unit:expr, $doc:expr,
        $range:expr, each $($name:literal),+) => {
        for name in [$($name),+] {
            $columns.push($crate::column::Column {
                name: format!("{}{name}", $prefix),
                kind: $crate::column::Kind::Real,
                unit: $unit,
                doc: $crate::object::sentence($doc, $absent),
                nullable: $absent.is_some(),
                range: $range,
            });
        }
    };
    ($columns:ident, $prefix:ident, $absent:ident, $type:ty, $field:ident, $unit:expr, $doc:expr,
        $range:expr, flat $more:literal) => {
        <$type as $crate::column::Record>::columns($columns, &format!("{}{}", $prefix, $more), $absent);
    };
    ($columns:ident, $prefix:ident, $absent:ident, $type:ty, $field:ident, $unit:expr, $doc:expr,
        $range:expr, optional $more:literal, $null:literal) => {
        $crate::object::inner::<$type>($columns, &format!("{}{}", $prefix, $more), $null);
    };
    ($columns:ident, $prefix:ident, $absent:ident, $type:ty, $field:ident, $unit:expr, $doc:expr,
        $range:expr, nested) => {};
}

/// The values of one field.
macro_rules! cells {
    ($cells:ident, $row:ident, $type:ty, $field:ident,) => {
        $cells.push($row.map_or($crate::column::Value::Null, |row| $crate::column::Cell::value(&row.$field)));
    };
    ($cells:ident, $row:ident, $type:ty, $field:ident, pairs $($arg:tt)*) => {
        let (first, second) = $row.map(|row| row.$field.iter().copied().unzip()).unwrap_or_default();
        $cells.push($crate::column::Value::Reals(first));
        $cells.push($crate::column::Value::Unsigneds(second));
    };
    ($cells:ident, $row:ident, $type:ty, $field:ident, each $($name:literal),+) => {
        let values: Option<[f64; [$($name),+].len()]> = $row.map(|row| row.$field);
        $cells.extend((0..[$($name),+].len()).map(|at| {
            values.map_or($crate::column::Value::Null, |values| $crate::column::Value::Real(values[at]))
        }));
    };
    ($cells:ident, $row:ident, $type:ty, $field:ident, flat $($arg:tt)*) => {
        <$type as $crate::column::Record>::cells($row.map(|row| &row.$field), $cells);
    };
    ($cells:ident, $row:ident, $type:ty, $field:ident, optional $($arg:tt)*) => {
        $crate::column::Record::cells($row.and_then(|row| row.$field.as_ref()), $cells);
    };
    ($cells:ident, $row:ident, $type:ty, $field:ident, nested) => {};
}

pub(crate) use {cells, columns, object, range};

use crate::column::{Column, Record};

/// The documentation of a column: its own, and when it is null because its whole object is.
pub(crate) fn sentence(doc: &str, absent: Option<&str>) -> String {
    match absent {
        Some(absent) => format!("{} {absent}", doc.trim()),
        None => doc.trim().into(),
    }
}

/// The record inside an option.
pub(crate) trait Inner {
    type Record: Record;
}

impl<T: Record> Inner for Option<T> {
    type Record = T;
}

/// The columns of an object that may be absent.
pub(crate) fn inner<T: Inner>(columns: &mut Vec<Column>, prefix: &str, absent: &str) {
    T::Record::columns(columns, prefix, Some(absent));
}

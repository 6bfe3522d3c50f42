//! Dtypes as kinds of elements.

use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::error;

/// The numbers of NumPy's types of which there are kinds of elements.
pub(crate) mod number {
    pub(crate) const BOOL: i32 = 0;
    pub(crate) const BYTE: i32 = 1;
    pub(crate) const UBYTE: i32 = 2;
    pub(crate) const SHORT: i32 = 3;
    pub(crate) const USHORT: i32 = 4;
    pub(crate) const INT: i32 = 5;
    pub(crate) const UINT: i32 = 6;
    pub(crate) const LONG: i32 = 7;
    pub(crate) const ULONG: i32 = 8;
    pub(crate) const LONGLONG: i32 = 9;
    pub(crate) const ULONGLONG: i32 = 10;
    pub(crate) const FLOAT: i32 = 11;
    pub(crate) const DOUBLE: i32 = 12;
    pub(crate) const CFLOAT: i32 = 14;
    pub(crate) const CDOUBLE: i32 = 15;
    pub(crate) const STRING: i32 = 18;
    pub(crate) const DATETIME: i32 = 21;
    pub(crate) const TIMEDELTA: i32 = 22;
    pub(crate) const HALF: i32 = 23;
}

/// Calls `$call` with `$kind` as the [`Kind`](crate::element::Kind) of a dtype, given by its number and the size of an
/// element, or evaluates `$other`.
macro_rules! with_kind {
    ($number:expr, $size:expr, $kind:ident => $call:expr, else $other:expr) => {{
        use $crate::dtype::number::*;
        use $crate::element::{Bytes, Complex, Float, Half, Integer, Time};
        macro_rules! with {
            ($type:ty) => {{
                type $kind = $type;
                $call
            }};
        }
        match ($number, $size) {
            (BOOL | UBYTE, _) => with!(Integer<u8>),
            (BYTE, _) => with!(Integer<i8>),
            (SHORT, _) => with!(Integer<i16>),
            (USHORT, _) => with!(Integer<u16>),
            (INT, _) => with!(Integer<i32>),
            (UINT, _) => with!(Integer<u32>),
            (LONG | LONGLONG, 8) => with!(Integer<i64>),
            (ULONG | ULONGLONG, 8) => with!(Integer<u64>),
            (FLOAT, _) => with!(Float<f32>),
            (DOUBLE, _) => with!(Float<f64>),
            (HALF, _) => with!(Half),
            (CFLOAT, _) => with!(Complex<f32>),
            (CDOUBLE, _) => with!(Complex<f64>),
            (DATETIME | TIMEDELTA, _) => with!(Time),
            (STRING, 16) => with!(Bytes),
            _ => $other,
        }
    }};
}

pub(crate) use with_kind;

/// The error for an array of a dtype without a kind.
pub(crate) fn unsupported(function: &str, array: &Bound<'_, PyUntypedArray>) -> PyErr {
    error::type_error(format_args!(
        "{function}: dtype {}: has no order here; bool, integers, float16 to float64, complex, datetime64, timedelta64, S1 to \
         S16, and structures of them have",
        array.dtype()
    ))
}

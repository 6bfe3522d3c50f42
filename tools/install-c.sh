#!/bin/sh
# Builds and installs the C library: headers, libeagre.so, libeagre.a and eagre.pc.
#
#   tools/install-c.sh                            into /usr/local
#   PREFIX=/usr DESTDIR=/tmp/package tools/install-c.sh
#
# PREFIX, LIBDIR and INCLUDEDIR are where the files will live; DESTDIR is put before them, for packagers.
# FROM is a folder with libeagre_c.so and libeagre_c.a that are built already; without it they are built now.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
prefix=${PREFIX:-/usr/local}
libdir=${LIBDIR:-$prefix/lib}
includedir=${INCLUDEDIR:-$prefix/include}
destdir=${DESTDIR:-}
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$root/Cargo.toml" | head -n 1)

from=${FROM:-}
if [ -z "$from" ]; then
    (cd "$root" && cargo build --release --locked -p eagre-capi)
    from=${CARGO_TARGET_DIR:-$root/target}/release
fi

mkdir -p "$destdir$includedir" "$destdir$libdir/pkgconfig"
install -m 644 "$root/include/eagre.h" "$root/include/eagre.hpp" "$destdir$includedir"
install -m 644 "$from/libeagre_c.a" "$destdir$libdir/libeagre.a"
# Replaced and not overwritten: a program may be running on the old one.
install -m 755 "$from/libeagre_c.so" "$destdir$libdir/libeagre.so.$version.new"
mv -f "$destdir$libdir/libeagre.so.$version.new" "$destdir$libdir/libeagre.so.$version"
ln -sf "libeagre.so.$version" "$destdir$libdir/libeagre.so.0"
ln -sf libeagre.so.0 "$destdir$libdir/libeagre.so"
sed -e "s|@PREFIX@|$prefix|" -e "s|@INCLUDEDIR@|$includedir|" -e "s|@LIBDIR@|$libdir|" -e "s|@VERSION@|$version|" \
    "$root/crates/capi/eagre.pc.in" > "$destdir$libdir/pkgconfig/eagre.pc"
chmod 644 "$destdir$libdir/pkgconfig/eagre.pc"

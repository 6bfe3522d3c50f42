#!/bin/sh
# Builds and installs the C library: headers, libeagre.so, libeagre.a and eagre.pc; or removes what it installed.
#
#   tools/install-c.sh                            into /usr/local
#   PREFIX=/usr DESTDIR=/tmp/package tools/install-c.sh
#   tools/install-c.sh uninstall
#
# PREFIX, LIBDIR and INCLUDEDIR are where the files will live; DESTDIR is put before them, for packagers.
# FROM is a folder with libeagre_c.a that is built already; without it, it is built now.
# CC, LD, AR and OBJCOPY name the tools.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
prefix=${PREFIX:-/usr/local}
libdir=${LIBDIR:-$prefix/lib}
includedir=${INCLUDEDIR:-$prefix/include}
destdir=${DESTDIR:-}
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$root/Cargo.toml" | head -n 1)
soname=libeagre.so.0

uninstall() {
    rm -f "$destdir$includedir/eagre.h" "$destdir$includedir/eagre.hpp" "$destdir$libdir/libeagre.a" \
        "$destdir$libdir/libeagre.so" "$destdir$libdir/$soname" "$destdir$libdir/libeagre.so.$version" \
        "$destdir$libdir/pkgconfig/eagre.pc"
    # Folders that are empty now go too, but for the one that the caller named and those that every system has.
    rmdir "$destdir$libdir/pkgconfig" 2>/dev/null || true
    case "${destdir%/}${prefix%/}" in /usr | /usr/local) return ;; esac
    cd "${destdir:-$prefix}" 2>/dev/null || return 0
    for folder in "$libdir" "$includedir"; do
        if [ -n "$destdir" ]; then folder=${folder#/}; else folder=${folder#"$prefix"/}; fi
        case "$folder" in /*) ;; *) rmdir -p "$folder" 2>/dev/null || true ;; esac
    done
}

case "${1:-install}" in
install) ;;
uninstall) uninstall && exit 0 ;;
*) sed -n '2,10s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
esac

from=${FROM:-}
if [ -z "$from" ]; then
    (cd "$root" && cargo build --release --locked -p eagre-capi)
    from=${CARGO_TARGET_DIR:-$root/target}/release
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# One object of all that the interface needs. Its other symbols are its own: a program may link another library written in
# Rust beside it. So no section may be shared with that one by name (groups), and no symbol be left that nothing uses: the
# linker takes those for needed, though all that needs them may be gone. Cargo's archive also has the compiler's
# intermediate code in it, and debug information.
roots=$(grep -v '^ *//' "$root/include/eagre.h" | grep -o 'eagre_[a-z0-9_]*(' | tr -d '(' | sort -u | sed 's/^/-u /')
# shellcheck disable=SC2086
"${LD:-ld}" -r --gc-sections --force-group-allocation $roots -o "$work/all.o" "$from/libeagre_c.a"
"${OBJCOPY:-objcopy}" --wildcard --keep-global-symbol='eagre_*' --remove-section=.llvmbc --remove-section=.llvmcmd \
    --strip-unneeded "$work/all.o" "$work/eagre.o"
"${AR:-ar}" rcs "$work/libeagre.a" "$work/eagre.o"

# The name that programs ask for at run time changes with the binary interface, not with each version. The pager's thread and
# the signal handlers live as long as the process: dlclose must not take their code away.
"${CC:-cc}" -shared -o "$work/libeagre.so" -Wl,-soname,$soname -Wl,-z,nodelete,-z,relro,-z,now \
    -Wl,--version-script,"$root/crates/capi/eagre.map" -Wl,--gc-sections -Wl,--strip-all "$work/eagre.o" \
    -lgcc_s -lutil -lrt -lpthread -lm -ldl -lc

mkdir -p "$destdir$includedir" "$destdir$libdir/pkgconfig"
install -m 644 "$root/include/eagre.h" "$root/include/eagre.hpp" "$destdir$includedir"
install -m 644 "$work/libeagre.a" "$destdir$libdir/libeagre.a"
# Replaced and not overwritten: a program may be running on the old one.
install -m 755 "$work/libeagre.so" "$destdir$libdir/libeagre.so.$version.new"
mv -f "$destdir$libdir/libeagre.so.$version.new" "$destdir$libdir/libeagre.so.$version"
ln -sf "libeagre.so.$version" "$destdir$libdir/$soname"
ln -sf $soname "$destdir$libdir/libeagre.so"
sed -e "s|@PREFIX@|$prefix|" -e "s|@INCLUDEDIR@|$includedir|" -e "s|@LIBDIR@|$libdir|" -e "s|@VERSION@|$version|" \
    "$root/crates/capi/eagre.pc.in" > "$destdir$libdir/pkgconfig/eagre.pc"
chmod 644 "$destdir$libdir/pkgconfig/eagre.pc"

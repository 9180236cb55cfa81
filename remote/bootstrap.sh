# What the shell at the far end runs, as one line in single quotes: bootstrap.go joins the lines with spaces, without
# those that begin with #. So each line ends with what separates commands, and there is no single quote, no exclamation
# mark and no two backslashes in a row, which some login shells would replace even there.
#
# What is between two @ is replaced. FIRST and SECOND are the parts of a random text.

say() { printf "\n%s%s %s\n" "@FIRST@" "@SECOND@" "$*"; };
fail() { say error "$*"; exit 1; };
text() { t=$(printf "%bx" "$1"); t=${t%x}; };

# The helper is a program that is there already.
text "@PATH@"; program=$t;
if [ "$program" ]; then
	[ -f "$program" ] && [ -x "$program" ] || fail "there is no program $program";
	say run; exec "$program";
fi;
if [ "@COPY@" = no ]; then
	if command -v acpterm-remote >/dev/null 2>&1; then say run; exec acpterm-remote; fi;
fi;

# It is the one with this hash.
system=$(uname -s); machine=$(uname -m);
case "$system $machine" in
	@HASHES@
	*) say need "$system" "$machine"; exit 1 ;;
esac;
sum() {
	for s in "sha256sum" "shasum -a 256" "sha256 -q"; do
		if command -v "${s%% *}" >/dev/null 2>&1; then sum=$($s <"$1"); sum=${sum%% *}; return; fi;
	done;
	fail "there is neither sha256sum nor shasum to check the helper with";
};
sum /dev/null;

# Where it is, or can be. Unless the embedder has named it, another user could put something else in its place: HOME may
# be another's, and the temporary directory is open to all. So the directory has to be this user's and no link, and the
# one above it this user's, too, except for the temporary one.
umask 077;
text "@DIR@"; first=$t; second=;
if [ -z "$first" ]; then
	second=${TMPDIR:-/tmp}/acpterm-$(id -u); first=$second;
	if [ "$XDG_CACHE_HOME" ]; then first=$XDG_CACHE_HOME/acpterm; elif [ -O "$HOME" ]; then first=$HOME/.cache/acpterm; fi;
fi;
ours() {
	if [ "$second" ]; then
		mkdir -p "$1" 2>/dev/null; if [ -h "$1" ]; then return 1; fi;
		[ -d "$1" ] && [ -O "$1" ] && { [ "$1" = "$second" ] || [ -O "${1%/*}" ]; };
	fi;
};
for d in "$first" "$second"; do
	file=$d/$hash/acpterm-remote;
	if [ "$d" ] && [ -f "$file" ] && [ -x "$file" ] && ours "$d"; then
		sum "$file"; if [ "$sum" = "$hash" ]; then say run; exec "$file"; fi;
	fi;
done;

# It is copied to a file of its own and gets its name once it is whole. A directory whose files cannot be executed is
# as good as none.
for d in "$first" "$second"; do
	new=$d/$hash/new.@SECOND@; file=$d/$hash/acpterm-remote;
	if [ "$d" ] && ours "$d" && mkdir -p "$d/$hash" 2>/dev/null && ( true >"$new" ) 2>/dev/null; then
		trap "rm -f \"\$new\"" EXIT; trap "exit 1" HUP INT TERM PIPE;
		if chmod 700 "$new" && [ -x "$new" ]; then
			find "$d/$hash" -name "new.*" -mtime +1 -exec rm -f "{}" ";" ;
			say need "$system" "$machine";
			read -r hash size || exit 1;
			head -c "$size" >"$new" || fail "the helper cannot be written to $d";
			sum "$new"; [ "$sum" = "$hash" ] || fail "the helper arrived damaged in $d";
			mv -f "$new" "$file" || fail "the helper cannot be put into $d";
			trap - EXIT HUP INT TERM PIPE;
			say run; exec "$file";
		fi;
		rm -f "$new";
	fi;
done;
fail "no program can be put into $first${second:+ or $second}";

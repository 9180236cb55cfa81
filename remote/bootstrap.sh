# The script of the remote shell, as one line in single quotes: bootstrap.go joins the lines with spaces, without
# comments. So each line ends with a separator of commands, and the script contains no single quote, no exclamation mark
# and no two backslashes in a row, which some login shells would replace even there.
#
# It first says which login shell there is, for errors. bootstrap.go replaces the names between two @. FIRST and SECOND are the parts of a random text.

say() { printf "\n%s%s %s\n" "@FIRST@" "@SECOND@" "$*"; };
fail() { say error "$*"; exit 1; };
text() { t=$(printf "%bx" "$1"); t=${t%x}; };
say shell "$SHELL";

# The helper is an installed program.
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
# be another user's, and the temporary directory is open to all.
umask 077;
text "@DIR@"; first=$t; second=;
if [ -z "$first" ]; then
	me=$(id -u); second=${TMPDIR:-/tmp}/acpterm-$me; first=$second;
	if [ "$XDG_CACHE_HOME" ]; then first=$XDG_CACHE_HOME/acpterm; elif [ -O "$HOME" ]; then first=$HOME/.cache/acpterm; fi;
fi;

# So a file or a directory has to be safe: this user's, no link, and not one that a group or others can write to. Each
# directory above it has to be this user's or root's, and one in which no other user can replace it: others cannot write
# to it, or it has the sticky bit.
look() { ls -ldn "$1" 2>/dev/null | { read -r mode links owner rest; printf "%s %s" "$mode" "$owner"; }; };
safe() {
	[ -z "$second" ] || case $(look "$1") in
		l*|?????w*|????????w*) return 1 ;;
		*" $me") ;;
		*) return 1 ;;
	esac;
};
above() {
	p=$1;
	while [ "$p" ]; do
		p=${p%/*};
		case $(look "${p:-/}") in
			?????????[tT]*" 0"|?????????[tT]*" $me") ;;
			?????w*|????????w*) return 1 ;;
			*" 0"|*" $me") ;;
			*) return 1 ;;
		esac;
	done;
};

# no adds the directory d to those without the helper, with the reason on one line.
no() { set -f; set -- $1; set +f; why="$why${why:+, or }$d ($*)"; };

# ours makes the directory d the real one, so that a link above it that is replaced later does not count, and sets new
# and file. It fails if the helper cannot be there.
ours() {
	if [ "$second" ]; then
		m=$(mkdir -p "$d" 2>&1); if [ -h "$d" ]; then no "it is a link"; return 1; fi;
		r=$(cd -P "$d" 2>/dev/null && pwd -P && echo x) || { no "${m:-it cannot be entered}"; return 1; };
		d=${r%?x}; safe "$d" && above "$d" || { no "another user could replace its files"; return 1; };
	fi;
	new=$d/$hash/new.@SECOND@; file=$d/$hash/acpterm-remote;
	m=$(mkdir -p "$d/$hash" 2>&1) || { no "$m"; return 1; };
	safe "$d/$hash" || { no "another user could replace its files"; return 1; };
};
for d in "$first" "$second"; do
	if [ "$d" ] && [ -f "$d/$hash/acpterm-remote" ] && ours && [ -x "$file" ] && safe "$file"; then
		touch "$file" 2>/dev/null; sum "$file"; if [ "$sum" = "$hash" ]; then say run; exec "$file"; fi;
	fi;
done;

# It is copied to a file of its own and gets its name once it is whole. The second cat takes what the first one cannot
# write, so that the embedder can send the helper again, for the next directory. A directory whose files cannot be
# executed is as good as none.
#
# Then helpers that no connection has used for 30 days are removed. Those that still run keep their file until they end.
copy() {
	ours || return;
	m=$( ( true >"$new" ) 2>&1 ) || { no "$m"; return; };
	trap "rm -f \"\$new\"" EXIT; trap "exit 1" HUP INT TERM PIPE;
	chmod 700 "$new" && [ -x "$new" ] || { no "its files cannot be executed"; return; };
	find "$d/$hash" -name "new.*" -mtime +1 -exec rm -f "{}" ";" ;
	say need "$system" "$machine";
	read -r hash size || exit 1;
	m=$( { head -c "$size" | { cat >"$new" || cat >/dev/null; }; } 2>&1 );
	sum "$new"; [ "$sum" = "$hash" ] || { no "${m:+the helper cannot be written: }${m:-the helper arrived damaged}"; return; };
	m=$(mv -f "$new" "$file" 2>&1) || { no "$m"; return; };
	trap - EXIT HUP INT TERM PIPE;
	for f in "$d"/*/acpterm-remote; do
		h=${f%/*}; h=${h##*/};
		if [ ${#h} = 64 ]; then
			find "$f" -type f -mtime +30 -exec rm -f "{}" ";" ; rmdir "${f%/*}" 2>/dev/null;
		fi;
	done;
	say run; exec "$file";
};
why=;
for d in "$first" "$second"; do
	if [ "$d" ]; then new=; copy; rm -f "$new"; fi;
done;
fail "no program can be put into $why";

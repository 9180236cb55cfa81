package hosttest

import (
	"os"
	"os/exec"
	"testing"
)

// OtherUser is a user without rights who is neither root nor the user of the tests.
const OtherUser = 65_533

// Listen is a line of sh that listens on a TCP port, prints its process ID and the port, and does not end by itself.
// The variables AS and PERL may run it as another user.
const Listen = `$AS ${PERL:-perl} -MSocket -e '$| = 1; socket(S, PF_INET, SOCK_STREAM, 0); listen(S, 1);
	print "$$ ", (sockaddr_in(getsockname(S)))[0], "\n"; sleep 1000'`

// AsOther is a value of $AS.
const AsOther = "setpriv --reuid 65533 --clear-groups"

// NeedOtherUser skips a test that runs processes as OtherUser if this is not possible. If ACPTERM_REQUIRE_USERS is set,
// the test fails instead.
func NeedOtherUser(t testing.TB) {
	t.Helper()
	missing := ""
	if os.Getuid() != 0 {
		missing = "only root can become another user"
	}
	for _, program := range []string{"perl", "setpriv"} {
		if _, err := exec.LookPath(program); err != nil {
			missing = err.Error()
		}
	}
	switch {
	case missing == "":
	case os.Getenv("ACPTERM_REQUIRE_USERS") != "":
		t.Fatal(missing)
	default:
		t.Skip(missing)
	}
}

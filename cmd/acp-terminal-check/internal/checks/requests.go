package checks

// Requests: their ids, and cancelled ones.

import (
	"math"

	"github.com/acpterm/acpterm/cmd/acp-terminal-check/internal/child"
	"github.com/acpterm/acpterm/cmd/acp-terminal-check/internal/rpc"
)

const (
	codeCancelled = -32800

	pageCancel = "Cancellation"
	typeID     = "schema, RequestId"
)

func ids() []Check {
	have := func(ids ...any) func(*T) {
		return func(t *T) {
			terminal := t.create(t.command())
			for _, id := range ids {
				t.result(t.sendAs(id, "terminal/output", t.of(terminal)), nil)
			}
		}
	}
	return []Check{
		protocol("rpc.id", "an answer has the id of its request, also if that is a string",
			"JSON-RPC 2.0, Response object", have("check/é", "7"), "output.shape"),
		protocol("rpc.id.large", "ids up to 2^53 come back as they are",
			typeID+": an integer of 64 bits",
			have(math.MaxInt32+1, math.MaxUint32+1, 1<<53-1, 1<<53), "output.shape"),
		beyond("rpc.id.int64", "ids up to 2^63-1 come back as they are",
			typeID+": an integer of 64 bits, which some languages round",
			have(1<<53+1, math.MaxInt64), "rpc.id.large"),
		protocol("rpc.id.negative", "negative ids come back as they are",
			typeID+": an integer of 64 bits", have(-1, math.MinInt32), "output.shape"),
	}
}

// sendAs sends a request with the given id.
func (t *T) sendAs(id any, method string, params any) *pending {
	select {
	case <-t.Conn.Unmatched(): // from an earlier check
	default:
	}
	p := t.sendWith(id, method, params)
	p.wrong = t.Conn.Unmatched()
	return p
}

func cancels() []Check {
	return []Check{
		protocol("cancel.wait", "a cancelled wait ends with -32800 or a status, and the command runs on",
			pageCancel+": an answer, if the client supports it at all", func(t *T) {
				id := t.create(t.command(t.lock("command"), t.stay(), child.Step("touch", t.path("whole"))))
				t.runs("command")
				wait := t.cancelledWait(id)
				t.output(id) // so that the client has read the cancel
				t.throughout(func() bool {
					t.cancelledOr(wait, false)
					return child.Held(t.path("command"))
				}, "the command to run on", "the command has ended")
				t.let("stop")
				t.cancelledOr(wait, true)
				t.ends("command", "the command")
				t.want(t.made("whole"), "the command to run to its end", "it was ended before")
			}, "wait.concurrent", "output.shape"),
		beyond("cancel.answered", "a cancelled wait is answered at once",
			"a cancelled turn need not wait for the command", func(t *T) {
				id := t.start()
				t.cancelledOr(t.cancelledWait(id), true)
				t.stays("command", "the command")
			}, "cancel.wait"),
		beyond("cancel.unknown", "a cancel of a request that is not known is left out",
			"the answer and the cancel may cross", func(t *T) {
				t.Conn.Notify("$/cancel_request", rpc.Object{"requestId": 1 << 30})
				t.create(t.command())
			}),
	}
}

// cancelledWait returns a pending wait that the check has cancelled. Before the cancel, the client answers another
// request and has some time, because a client may end the wait's command only if the wait has begun.
func (t *T) cancelledWait(id string) *pending {
	wait := t.send("terminal/wait_for_exit", t.of(id))
	t.output(id)
	t.throughout(func() bool { return !wait.answered() }, "no answer while the command runs", "there is one")
	t.Conn.Notify("$/cancel_request", rpc.Object{"requestId": wait.id})
	return wait
}

// cancelledOr fails if a cancelled wait was answered with a different error. It waits for the answer only if must is
// set.
func (t *T) cancelledOr(wait *pending, must bool) {
	if !must && !wait.answered() {
		return
	}
	if a := t.answer(wait); a.Error != nil {
		t.want(a.Error.Code == codeCancelled, "a status, or error -32800", "the error is %d", a.Error.Code)
	}
}

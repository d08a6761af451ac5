package resp_test

import (
	"strings"
	"testing"

	"github.com/rlserver/rlserver/resp"
)

// framing is what a session answers to bytes. Redis gives the same answers,
// but for rows that say what it does instead (TestFramingAsRedis).
type framing struct {
	name string
	in   string
	out  string
	end  resp.Status
	not  string // what Redis does instead
}

func framings() []framing {
	const (
		read, gone = resp.StatusRead, resp.StatusClose
		pong       = "+PONG\r\n"
		failed     = "-ERR Protocol error: "
	)
	const k64 = 64 << 10
	return []framing{
		{"nothing", "", "", read, ""},
		{"array", "*1\r\n$4\r\nPING\r\n", pong, read, ""},
		{"pipeline", "*1\r\n$4\r\nPING\r\n*2\r\n$4\r\necho\r\n$2\r\nhi\r\nPING\r\n", pong + "$2\r\nhi\r\n" + pong, read, ""},
		{"binary argument", "*2\r\n$4\r\necho\r\n$4\r\n\r\n\x00\xff\r\n", "$4\r\n\r\n\x00\xff\r\n", read, ""},
		{"empty argument", "*2\r\n$4\r\necho\r\n$0\r\n\r\n", "$0\r\n\r\n", read, ""},

		{"no arguments", "*0\r\nPING\r\n", pong, read, ""},
		{"null array", "*-1\r\nPING\r\n", pong, read, ""},
		{"negative count", "*-10\r\nPING\r\n", pong, read, ""},
		{"least count", "*-9223372036854775808\r\nPING\r\n", pong, read, ""},
		{"count below 64 bits", "*-9223372036854775809\r\n", failed + "invalid multibulk length\r\n", gone, ""},
		{"minus zero", "*-0\r\n", failed + "invalid multibulk length\r\n", gone, ""},
		{"minus alone", "*-\r\n", failed + "invalid multibulk length\r\n", gone, ""},
		{"count above 31 bits", "*2147483648\r\n", failed + "invalid multibulk length\r\n", gone, ""},
		{"count of 63 bits", "*9223372036854775807\r\n", failed + "invalid multibulk length\r\n", gone, ""},
		{"count of 64 bits", "*9223372036854775808\r\n", failed + "invalid multibulk length\r\n", gone, ""},
		{"count above 64 bits", "*18446744073709551617\r\n", failed + "invalid multibulk length\r\n", gone, ""},
		{"count of 30 digits", "*" + strings.Repeat("9", 30) + "\r\n", failed + "invalid multibulk length\r\n", gone, ""},
		{"too many arguments", "*1025\r\n", failed + "invalid multibulk length\r\n", gone, "waits for them: it takes a million"},
		{"leading zero in count", "*01\r\n", failed + "invalid multibulk length\r\n", gone, ""},
		{"plus in count", "*+1\r\n", failed + "invalid multibulk length\r\n", gone, ""},
		{"space before count", "* 1\r\n", failed + "invalid multibulk length\r\n", gone, ""},
		{"space behind count", "*1 \r\n", failed + "invalid multibulk length\r\n", gone, ""},
		{"no count", "*\r\n", failed + "invalid multibulk length\r\n", gone, ""},
		{"letter in count", "*1a\r\n", failed + "invalid multibulk length\r\n", gone, ""},

		{"bulk above Redis' bound", "*1\r\n$536870913\r\n", failed + "invalid bulk length\r\n", gone, ""},
		{"bulk of 63 bits", "*1\r\n$9223372036854775807\r\n", failed + "invalid bulk length\r\n", gone, ""},
		{"bulk above 64 bits", "*1\r\n$9223372036854775808\r\n", failed + "invalid bulk length\r\n", gone, ""},
		{"bulk of -1", "*1\r\n$-1\r\n", failed + "invalid bulk length\r\n", gone, ""},
		{"bulk of -2", "*1\r\n$-2\r\n", failed + "invalid bulk length\r\n", gone, ""},
		{"leading zero in bulk", "*1\r\n$04\r\nPING\r\n", failed + "invalid bulk length\r\n", gone, ""},
		{"plus in bulk", "*1\r\n$+4\r\nPING\r\n", failed + "invalid bulk length\r\n", gone, ""},
		{"no bulk length", "*1\r\n$\r\n", failed + "invalid bulk length\r\n", gone, ""},
		{"bulk above the bound", "*1\r\n$65537\r\n", failed + "invalid bulk length\r\n", gone, "waits for it"},
		{"no dollar", "*1\r\n:4\r\n", failed + "expected '$', got ':'\r\n", gone, ""},
		{"nested array", "*1\r\n*1\r\n", failed + "expected '$', got '*'\r\n", gone, ""},
		{"high byte for dollar", "*1\r\n\xff4\r\n", failed + "expected '$', got '\xff'\r\n", gone, ""},
		{"CR for dollar", "*1\r\n\r\n", failed + "expected '$', got ' '\r\n", gone, ""},
		{"LF for dollar", "*1\r\n\n\r\n", failed + "expected '$', got ' '\r\n", gone, ""},
		{"NUL for dollar", "*1\r\n\x004\r\n", failed + "expected '$', got '\x00'\r\n", gone, "waits"},
		{"inline inside an array", "*2\r\n$4\r\nECHO\r\nPING\r\n", failed + "expected '$', got 'P'\r\n", gone, ""},

		{"LF alone ends no header", "*1\n$4\nPING\n", "", read, ""},
		{"any byte behind CR", "*1\rX$4\rYPINGabPING\r\n", pong + pong, read, ""},
		{"any bytes behind a payload", "*1\r\n$4\r\nPINGxx*1\r\n$4\r\nPING\r\n", pong + pong, read, ""},
		{"CR that waits for its byte", "*1\r", "", read, ""},
		{"payload without its end", "*1\r\n$4\r\nPING\r", "", read, ""},
		{"bulk without an array", "$4\r\nPING\r\n", "-ERR unknown command '$4', with args beginning with: \r\n" + pong, read, ""},

		{"inline", "PING\r\n", pong, read, ""},
		{"inline LF", "PING\n", pong, read, ""},
		{"inline CR CR LF", "PING\r\r\n", pong, read, ""},
		{"inline CR alone", "PING\r", "", read, ""},
		{"empty lines", "\r\n\r\n\nPING\r\n", pong, read, ""},
		{"blank line", " \t\v\f \r\nPING\r\n", pong, read, ""},
		{"inline tabs", "\tECHO\ta\t\r\n", "$1\r\na\r\n", read, ""},
		{"vertical tab is skipped", "ECHO \v\fa\r\n", "$1\r\na\r\n", read, ""},
		{"vertical tab ends no word", "ECHO a\v\r\n", "$2\r\na\v\r\n", read, ""},
		{"no-break space is no space", "ECHO \xc2\xa0\r\n", "$2\r\n\xc2\xa0\r\n", read, ""},
		{"line of a no-break space", "\xc2\xa0\r\n", "-ERR unknown command '\xc2\xa0', with args beginning with: \r\n", read, ""},
		{"double quotes", `ECHO "a b"` + "\r\n", "$3\r\na b\r\n", read, ""},
		{"escapes", `ECHO "\n\r\t\b\a\"\\\q"` + "\r\n", "$8\r\n\n\r\t\b\a\"\\q\r\n", read, ""},
		{"hex", `ECHO "\x00\x4a\xfF\x9A"` + "\r\n", "$4\r\n\x00J\xff\x9a\r\n", read, ""},
		{"half a hex", `ECHO "\x4\xg1"` + "\r\n", "$5\r\nx4xg1\r\n", read, ""},
		{"single quotes", `ECHO 'a "b\n'` + "\r\n", "$6\r\na \"b\\n\r\n", read, ""},
		{"quote in single quotes", `ECHO 'it\'s'` + "\r\n", "$4\r\nit's\r\n", read, ""},
		{"quotes end a word", `ECHO a"b"` + "\r\n", "$2\r\nab\r\n", read, ""},
		{"single quotes end a word", `ECHO a'b'` + "\r\n", "$2\r\nab\r\n", read, ""},
		{"backslash outside of quotes", `ECHO a\n` + "\r\n", "$3\r\na\\n\r\n", read, ""},
		{"empty quotes", `ECHO ""` + "\r\n", "$0\r\n\r\n", read, ""},
		{"empty name", `""` + "\r\n", "-ERR unknown command '', with args beginning with: \r\n", read, ""},
		{"word behind quotes", `ECHO "a"b` + "\r\n", failed + "unbalanced quotes in request\r\n", gone, ""},
		{"word behind single quotes", `ECHO 'a'b` + "\r\n", failed + "unbalanced quotes in request\r\n", gone, ""},
		{"open quote", `ECHO "a` + "\r\n", failed + "unbalanced quotes in request\r\n", gone, ""},
		{"open single quote", `ECHO 'a` + "\r\n", failed + "unbalanced quotes in request\r\n", gone, ""},
		{"backslash at the end", `ECHO "a\` + "\r\n", failed + "unbalanced quotes in request\r\n", gone, ""},
		{"NUL in a line", "ECHO a\x00b\r\n", "$3\r\na\x00b\r\n", read, "waits"},

		{"POST", "POST / HTTP/1.1\r\nPING\r\n", "", gone, ""},
		{"Host:", "Host: localhost\r\nPING\r\n", "", gone, ""},
		{"POST in an array", "*1\r\n$4\r\npost\r\n", "", gone, ""},
		{"POST as an argument", "ECHO POST\r\n", "$4\r\nPOST\r\n", read, ""},
		{"before POST", "PING\r\nPOST /\r\n", pong, gone, "drops the reply"},

		{"valid before garbage", "PING\r\n*x\r\nPING\r\n", pong + failed + "invalid multibulk length\r\n", gone, ""},

		{"longest inline", strings.Repeat(" ", k64-4) + "PING\n", pong, read, ""},
		{"too long inline", strings.Repeat("a", k64+1), failed + "too big inline request\r\n", gone, ""},
		{"too long inline with its end", strings.Repeat(" ", k64-3) + "PING\n", failed + "too big inline request\r\n", gone, "depends on how it was cut"},
		{"too many words", strings.Repeat("a ", 1025) + "\r\n", failed + "too big inline request\r\n", gone, "has no bound"},
		{"longest count", "*" + strings.Repeat("1", k64-1), "", read, ""},
		{"too long count", "*" + strings.Repeat("1", k64), failed + "too big mbulk count string\r\n", gone, ""},
		{"long count with its end", "*" + strings.Repeat("1", k64-1) + "\r\n", failed + "invalid multibulk length\r\n", gone, ""},
		{"longest bulk length", "*1\r\n$" + strings.Repeat("1", k64-1), "", read, ""},
		{"too long bulk length", "*1\r\n$" + strings.Repeat("1", k64), failed + "too big bulk count string\r\n", gone, ""},

		{"replies skipped", "CLIENT REPLY SKIP\r\nPING\r\nECHO a\r\n", "$1\r\na\r\n", read, ""},
		{"skipped twice", "CLIENT REPLY SKIP\r\nCLIENT REPLY SKIP\r\nPING\r\nECHO a\r\n", "$1\r\na\r\n", read, ""},
		{"on while skipped", "CLIENT REPLY SKIP\r\nCLIENT REPLY ON\r\nPING\r\n", "+OK\r\n" + pong, read, ""},
		{"replies off", "CLIENT REPLY OFF\r\nPING\r\nCLIENT REPLY SKIP\r\nPING\r\nCLIENT REPLY ON\r\nPING\r\n", "+OK\r\n" + pong, read, ""},
		{"error while off", "CLIENT REPLY OFF\r\nPING\r\n*x\r\n", "", gone, "never closes it"},
		{"replies on inside EXEC", "MULTI\r\nPING\r\nPING\r\nCLIENT REPLY ON\r\nEXEC\r\n", "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n" + pong + pong + "+OK\r\n", read, ""},
		{"skip inside EXEC", "MULTI\r\nCLIENT REPLY SKIP\r\nPING\r\nEXEC\r\nPING\r\nECHO a\r\n", "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n" + pong + "$1\r\na\r\n", read, ""},
		{"skipped MULTI", "CLIENT REPLY SKIP\r\nMULTI\r\nPING\r\nEXEC\r\n", "+QUEUED\r\n*1\r\n" + pong, read, ""},

		{"QUIT drops what follows", "QUIT\r\nPING\r\n", "+OK\r\n", gone, ""},
		{"empty EXEC", "MULTI\r\nEXEC\r\n", "+OK\r\n*0\r\n", read, ""},
		{"EXEC", "MULTI\r\nECHO a\r\nECHO \"\\r\\n\"\r\nEXEC\r\nPING\r\n", "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n$1\r\na\r\n$2\r\n\r\n\r\n" + pong, read, ""},
		{"nested MULTI", "MULTI\r\nMULTI\r\nPING\r\nEXEC\r\n", "+OK\r\n-ERR MULTI calls can not be nested\r\n+QUEUED\r\n*1\r\n" + pong, read, ""},
		{"EXEC and DISCARD without MULTI", "EXEC\r\nDISCARD\r\n", "-ERR EXEC without MULTI\r\n-ERR DISCARD without MULTI\r\n", read, ""},
		{"DISCARD", "MULTI\r\nPING\r\nDISCARD\r\nEXEC\r\nPING\r\n", "+OK\r\n+QUEUED\r\n+OK\r\n-ERR EXEC without MULTI\r\n" + pong, read, ""},
		{
			"EXECABORT", "MULTI\r\nnope\r\nPING\r\nEXEC\r\nEXEC\r\n", "+OK\r\n-ERR unknown command 'nope', with args beginning with: \r\n+QUEUED\r\n" +
				"-EXECABORT Transaction discarded because of previous errors.\r\n-ERR EXEC without MULTI\r\n", read, "",
		},
		{
			"MULTI behind EXECABORT", "MULTI\r\nnope\r\nEXEC\r\nMULTI\r\nPING\r\nEXEC\r\n", "+OK\r\n-ERR unknown command 'nope', with args beginning with: \r\n" +
				"-EXECABORT Transaction discarded because of previous errors.\r\n+OK\r\n+QUEUED\r\n*1\r\n" + pong, read, "",
		},
		{
			"error inside EXEC", "MULTI\r\nECHO a b\r\nPING\r\nEXEC\r\n", "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n-ERR wrong number of arguments for 'echo' command\r\n" + pong,
			read, "checks the arity when it queues, which is the handler's task",
		},
		{"RESET", "RESET\r\nPING\r\n", "+RESET\r\n" + pong, read, ""},
		{"RESET inside MULTI", "MULTI\r\nPING\r\nRESET\r\nEXEC\r\n", "+OK\r\n+QUEUED\r\n+RESET\r\n-ERR EXEC without MULTI\r\n", read, ""},
		{"QUIT inside MULTI", "MULTI\r\nPING\r\nQUIT\r\nEXEC\r\n", "+OK\r\n+QUEUED\r\n+OK\r\n", gone, ""},
		{"garbage inside MULTI", "MULTI\r\nPING\r\n*x\r\nEXEC\r\n", "+OK\r\n+QUEUED\r\n" + failed + "invalid multibulk length\r\n", gone, ""},
	}
}

func TestFraming(t *testing.T) {
	for _, row := range framings() {
		t.Run(row.name, func(t *testing.T) {
			out, status := newClient(t, &handler{}).send(row.in)
			check(t, out, status, row.out, row.end)

			out, status = newClient(t, &handler{}).send(bytewise(row.in)...)
			check(t, out, status, row.out, row.end)
		})
	}
}

// What ended a session is known to its driver.
func TestErr(t *testing.T) {
	for _, row := range []struct {
		in   string
		want error
	}{
		{"PING\r\n", nil},
		{"QUIT\r\n", nil},
		{"*x\r\n", resp.ProtocolError("invalid multibulk length")},
		{"POST /\r\n", resp.ErrForged},
		{"BOOM\r\n", resp.ErrPanic},
	} {
		c := newClient(t, &handler{})
		c.send(row.in)
		if got := c.Err(); got != row.want { //nolint:errorlint // the very value
			t.Errorf("%q: Err = %v, want %v", row.in, got, row.want)
		}
	}
}

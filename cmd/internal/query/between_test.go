package query_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/clitest"
)

// query view selects rows of a folder by sort key, in both directions. An error names wrong bounds.
func TestQuery_Between(t *testing.T) {
	dir := t.TempDir()
	file, stream, out := filepath.Join(dir, "shop.yaml"), filepath.Join(dir, "stream.jsonl"), filepath.Join(dir, "out")
	config := "version: 1\nname: shop\nsource: {table: shop}\nsinks: {orders: {view: {table: rows, key: {PK: 'STATUS#{Status}', SK: '{@key}'}}}}\n"
	records := clitest.Order("a", "1") + clitest.Order("b", "2") + clitest.Order("c", "3")
	for path, text := range map[string]string{file: config, stream: records} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program.Run(t, cli.ExitOK, "replay", "-c", file, "--local", out, stream)
	for flags, want := range map[string]string{
		"--between a,b": "a b", "--between b,": "b c", "--between ,b --reverse": "b a", "--between a,c -n 1": "a", "--begins-with b": "b", "--between a0,az": "",
		`--between {"S":"a,"},{"S":"b,c"}`: "b", `--between a,{"S":"b,c"}`: "a b",
	} {
		text, _ := program.Run(t, cli.ExitOK, append([]string{"query", "view", "--local", out, "--pk", "STATUS#paid"}, strings.Fields(flags)...)...)
		var got []string
		for line := range strings.Lines(text) {
			got = append(got, strings.Fields(line)[1])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s shows %v, want %s", flags, got, want)
		}
	}
	for flags, want := range map[string]string{
		"--between a,b": "--pk", "--pk x --between a": "two sort keys", "--pk x --between ,": "two sort keys", "--pk x --between a,b,c": "with a comma", `--pk x --between {"S":"a,`: "two sort keys",
		"--pk x --between b,a": "the lesser comes first",
		"--live":               "cannot be combined",
	} {
		_, said := program.Run(t, cli.ExitUsage, append([]string{"query", "view", "--local", out}, strings.Fields(flags)...)...)
		if !strings.Contains(said, want) {
			t.Errorf("%s: %s", flags, said)
		}
	}
	for _, line := range []string{"query --live", "query view", "query view -c " + file} {
		program.Run(t, cli.ExitUsage, strings.Fields(line)...)
	}
}

// A key that is a number is written as DynamoDB JSON. If a key written as text finds nothing, query says how to write a
// number.
func TestQuery_NumberKeys(t *testing.T) {
	dir := t.TempDir()
	file, stream, out := filepath.Join(dir, "shop.yaml"), filepath.Join(dir, "stream.jsonl"), filepath.Join(dir, "out")
	config := "version: 1\nname: shop\nsource: {table: shop}\nsinks: {orders: {view: {table: rows, key: {PK: '{PK}', SK: '{PK}'}}}}\n"
	orders := strings.ReplaceAll(clitest.Order("9", "1")+clitest.Order("10", "2"), `"PK":{"S":`, `"PK":{"N":`)
	for path, text := range map[string]string{file: config, stream: orders} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program.Run(t, cli.ExitOK, "replay", "-c", file, "--local", out, stream)
	query := func(code int, flags ...string) (lines int, said string) {
		text, said := program.Run(t, code, append([]string{"query", "view", "--local", out}, flags...)...)
		return strings.Count(text, "\n"), said
	}
	if n, said := query(cli.ExitOK, "--pk", "10"); n != 0 || !strings.Contains(said, `--pk '{"N":"10"}'`) {
		t.Errorf("the text finds %d rows: %s", n, said)
	}
	for between, want := range map[string]int{`{"N":"1"},`: 1, `{"N":"9"},{"N":"10"}`: 1, `{"N":"9"},`: 1, `,{"N":"9"}`: 0} {
		if n, said := query(cli.ExitOK, "--pk", `{"N":"10.0"}`, "--between", between); n != want {
			t.Errorf("between %s there are %d rows, want %d: %s", between, n, want, said)
		}
	}
	for _, wrong := range []string{`{"N":"ten"}`, `{"BOOL":true}`, `{"N":`} {
		if _, said := query(cli.ExitUsage, "--pk", wrong); !strings.Contains(said, "--pk "+wrong) {
			t.Errorf("--pk %s: %s", wrong, said)
		}
	}
}

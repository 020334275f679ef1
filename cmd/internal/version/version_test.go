package version

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/clitest"
)

// The text has the commit of the build, and says if the sources had uncommitted changes.
func TestInfo(t *testing.T) {
	build := &debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "0123abc"}, {Key: "vcs.modified", Value: "true"}}}
	for want, build := range map[string]*debug.BuildInfo{
		`(?s)^tablewake v1.2.3\ncommit    0123abc, with changes\nGo        ` + regexp.QuoteMeta(runtime.Version()) + `, .*views.db of a --local folder  \d+\n`: build,
		`commit    unknown\n`: nil,
	} {
		var out bytes.Buffer
		newInfo("v1.2.3", build).write(&out)
		if !regexp.MustCompile(want).Match(out.Bytes()) {
			t.Errorf("it shows\n%s\nwant %s", &out, want)
		}
	}
}

// The document about what is stored lists the formats that version prints.
func TestFormats(t *testing.T) {
	page, err := os.ReadFile("../../../sinks/STORAGE.md")
	if err != nil {
		t.Fatal(err)
	}
	program := clitest.Program{New}
	out, _ := program.Run(t, cli.ExitOK, "version", "-o", "json")
	var shown info
	if err := json.Unmarshal([]byte(out), &shown); err != nil || shown.Version == "" {
		t.Fatalf("%v: %s", err, out)
	}
	for name, row := range map[string]string{
		"outputs": "output of sinks", "state_table": "rows of the state table", "views_db": "`views.db`", "lease_file": "file of leases",
	} {
		number := regexp.MustCompile(`(?m)^\| ` + row + ` \| (\d+), `).FindSubmatch(page)
		if number == nil || strconv.Itoa(shown.Formats[name]) != string(number[1]) {
			t.Errorf("%s is %d, and the page has %q", name, shown.Formats[name], number)
		}
	}
	if len(shown.Formats) != 4 {
		t.Errorf("there are %d formats", len(shown.Formats))
	}
}

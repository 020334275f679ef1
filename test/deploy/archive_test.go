package deploy

import (
	"archive/zip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/test/server"
)

// The unpacked archive of a release is a complete function. Its template passes SAM. In Lambda's emulator, its
// bootstrap reads the configuration beside it and fills the view.
func TestTheReleasedArchiveIsAFunction(t *testing.T) {
	out := t.TempDir()
	name := "tablewake-lambda_v0.0.1_linux_" + runtime.GOARCH
	cmd := exec.CommandContext(t.Context(), "go", "run", "./deploy/release", "-version", "v0.0.1", "-only", name, "-out", out)
	if said, err := run(t, cmd); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	dir := filepath.Join(out, "unpacked")
	unpack(t, filepath.Join(out, name+".zip"), dir)

	template := filepath.Join(dir, "template.yaml")
	for _, args := range [][]string{{"validate", "--lint", "-t", template, "--region", server.Region}, {"build", "-t", template, "--build-dir", filepath.Join(out, "build")}} {
		if said, err := tool(t, "sam", args...); err != nil {
			t.Errorf("sam %v: %v\n%s", args, err, said)
		}
	}

	w := newShop(t)
	w.create(t, w.views, "PK", "SK")
	w.create(t, w.state, "pk", "sk")
	f := server.StartFunctionFor(t, server.FunctionOptions{
		Bootstrap: filepath.Join(dir, "bootstrap"), Env: append(w.env, "TABLE="+w.table, "VIEWS="+w.views, "STATE="+w.state, "LETTERS="+w.table+"-dead"),
	})
	reply, err := f.Invoke(t.Context(), fmt.Appendf(nil, event, w.table))
	if err != nil || strings.TrimSpace(string(reply)) != `{"batchItemFailures":[]}` {
		t.Fatalf("the function replied %s, %v\n%s", reply, err, f.Log())
	}
	if !w.row(t, "STATUS#paid") {
		t.Error("the order is not in the view")
	}
}

// event is the event that Lambda sends for an order that was written.
const event = `{"Records": [{"eventID": "1", "eventName": "INSERT", "eventVersion": "1.1", "eventSource": "aws:dynamodb", "awsRegion": "us-east-1",
"eventSourceARN": "arn:aws:dynamodb:us-east-1:123456789012:table/%s/stream/2026-01-02T03:04:05.678",
"dynamodb": {"ApproximateCreationDateTime": 1772438400, "SequenceNumber": "300000000000000499659", "SizeBytes": 120, "StreamViewType": "NEW_AND_OLD_IMAGES",
"Keys": {"PK": {"S": "USER#1"}, "SK": {"S": "ORDER#1"}},
"NewImage": {"PK": {"S": "USER#1"}, "SK": {"S": "ORDER#1"}, "Type": {"S": "Order"}, "Status": {"S": "paid"}, "Total": {"N": "10.50"}}}}]}`

// unpack writes the files of an archive into a folder, with their modes.
func unpack(t *testing.T, archive, dir string) {
	t.Helper()
	z, err := zip.OpenReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	if err := os.CopyFS(dir, z); err != nil {
		t.Fatal(err)
	}
	for _, f := range z.File {
		if err := os.Chmod(filepath.Join(dir, f.Name), f.Mode()); err != nil {
			t.Fatal(err)
		}
	}
}

// create makes a table that exists before the starter is deployed.
func (w *shop) create(t *testing.T, name, partition, sort string) {
	t.Helper()
	if _, err := w.client.CreateTable(t.Context(), tableOf(name, partition, sort)); err != nil {
		t.Fatal(err)
	}
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/clitest"
	"github.com/tablewake/tablewake/test/server"
)

// On real servers, the commands name what is missing, and create it. A replay says whose stores it writes. why compares
// the item of the source table with what the sinks have.
func TestLive(t *testing.T) {
	file, name, tables := clitest.OnServers(t)
	stream := filepath.Join(t.TempDir(), "stream.jsonl")
	if err := os.WriteFile(stream, []byte(clitest.Order("a,b", "1")+clitest.Order("c", "2")), 0o644); err != nil {
		t.Fatal(err)
	}
	put := func(status string) {
		t.Helper()
		if _, err := tables.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(name + "-source"), Item: map[string]types.AttributeValue{
			"PK": &types.AttributeValueMemberS{Value: "a,b"}, "Status": &types.AttributeValueMemberS{Value: status},
		}}); err != nil {
			t.Fatal(err)
		}
	}
	put("paid")

	if _, said := program.Run(t, cli.ExitFailure, "replay", "-c", file, "--live", stream); !strings.Contains(said, "--create") {
		t.Errorf("without tables it says %s", said)
	}
	planned, _ := program.Run(t, cli.ExitPlanned, "plan", "-c", file, "--live", "--sample", "0")
	want := "$ tablewake backfill -c " + file + " --live --sink orders --scan --function NAME --lag TIME\n"
	if !strings.Contains(planned, want) {
		t.Errorf("without leases plan says %s, want %s", planned, want)
	}
	summary, said := program.Run(t, cli.ExitOK, "replay", "-c", file, "--live", "--create", stream)
	for _, want := range []string{"Region " + server.Region, "table " + name + "-rows", "index " + name + " at ", "bucket " + name + " changes/"} {
		if !strings.Contains(said, want) {
			t.Errorf("before it writes it does not say %q: %s", want, said)
		}
	}
	if !strings.Contains(summary, "source: read 2 = routed 2") {
		t.Error(summary)
	}

	same, _ := program.Run(t, cli.ExitOK, "why", "-c", file, "--live", "--key", `PK=a\,b`)
	if n := strings.Count(same, "[as it should be]"); n != 3 || !strings.Contains(same, "its values are not compared") { // row, contribution and document; the group's values are not compared
		t.Errorf("%d places are as they should be, of 3:\n%s", n, same)
	}
	put("shipped")
	other, _ := program.Run(t, cli.ExitFailure, "why", "-c", file, "--live", "--key", "a%2Cb")
	for _, want := range []string{"[MISSING]", "[LEFT OVER]", "[DIFFERS]"} {
		if !strings.Contains(other, want) {
			t.Errorf("the item changed, and nothing is %s:\n%s", want, other)
		}
	}

	if list, _ := program.Run(t, cli.ExitOK, "redrive", "-c", file, "--live", "--list"); strings.TrimSpace(list) != "" && !strings.Contains(list, "no such dead letters") {
		t.Errorf("letters: %s", list)
	}
	if text, _ := program.Run(t, cli.ExitOK, "purge", "-c", file); !strings.Contains(text, "docs: 0 tombstones") {
		t.Errorf("purge says %s", text)
	}
}

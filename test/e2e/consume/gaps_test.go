package consume

import (
	"context"
	"crypto/md5" //nolint:gosec // the checksum of an export
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/test/e2e/shop"
)

// The stream drops records while no consumer runs. The gap is repaired while a consumer reads on, and the sinks then
// hold what follows from the table.
func TestGap_Repaired(t *testing.T) {
	for _, how := range []string{"export", "audit"} {
		t.Run(how, func(t *testing.T) {
			table := "gap-" + how + "-" + strings.ToLower(filepath.Base(t.TempDir())) + "-" + time.Now().UTC().Format("150405.000")
			s := startStream(t, "-table", table, "-shards", "2")
			w := newWorld(t, table, s.endpoint, ", on_gap: continue")
			task := w.start(t, "task-1", w.dynamo)
			task.reads(t)
			source := newSource(t, s)
			source.fill(t, 60)
			w.converge(t, func() []item { return s.items(t) })
			source.export(t) // the incremental export starts at the time of this one
			task.stop(t)

			for i := range 40 {
				if pk := shop.PK(i); i%3 == 0 {
					source.must(t, source.Remove(pk, false))
				} else {
					source.must(t, source.Put(pk))
				}
			}
			s.do(t, http.MethodPost, "/admin/trim", map[string]any{"records": 1000}, nil)
			if n := s.trimmed(t); n != 100 {
				t.Fatalf("the stream dropped %d records, want 100", n)
			}
			for i := 50; i < 60; i++ {
				source.must(t, source.Put(shop.PK(i)))
			}
			task = w.start(t, "task-1", w.dynamo)
			until(t, "the gap is noted", func() bool { code, _ := w.run(t, "gaps"); return code == 7 })
			task.reads(t)
			arn := w.copyTable(t, table, source)
			args := []string{"gaps", "-o", "json", "--repair", "--rcu", "0", "--clock-skew", "1s", "--report", filepath.Join(t.TempDir(), "left.jsonl")}
			if how == "audit" {
				args = append(args, "--audit")
			} else {
				dir := t.TempDir()
				source.must(t, source.ExportChanges(dir, arn))
				widen(t, dir)
				args = append(args, "--export", dir)
			}
			var out string
			untilWithin(t, 2*time.Minute, "the gaps are repaired", func() bool {
				var code int
				code, out = w.run(t, args...)
				if code != 0 && !strings.Contains(out, "repair it after") {
					t.Fatalf("the repair ends with %d:\n%s", code, out)
				}
				return code == 0
			})
			if !strings.Contains(out, `"stage":"repaired"`) || strings.Contains(out, `"stage":"open"`) {
				t.Errorf("the gaps:\n%s", out)
			}
			w.converge(t, func() []item { return s.items(t) })
			task.stop(t)
		})
	}
}

// copyTable makes a table of DynamoDB Local with the items of the source, and returns its ARN.
func (w *world) copyTable(t *testing.T, name string, source *source) string {
	t.Helper()
	made, err := w.client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("PK"), AttributeType: types.ScalarAttributeTypeS}, {AttributeName: aws.String("SK"), AttributeType: types.ScalarAttributeTypeS},
		},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("PK"), KeyType: types.KeyTypeHash}, {AttributeName: aws.String("SK"), KeyType: types.KeyTypeRange},
		},
	})
	source.must(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if _, err := w.client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
			t.Error(err)
		}
	})
	d := &dynamoTable{ctx: t.Context(), client: w.client, name: name}
	for _, it := range source.Items() {
		_, err := d.Put(it.JSON())
		source.must(t, err)
	}
	return aws.ToString(made.TableDescription.TableArn)
}

// widen makes the period of an incremental export start ten minutes ago and end in ten minutes, so that it covers the
// gap.
func widen(t *testing.T, dir string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "AWSDynamoDB", "*", "manifest-summary.json"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	b, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	var summary map[string]any
	if err := json.Unmarshal(b, &summary); err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC()
	summary["exportFromTime"], summary["exportToTime"] = now.Add(-10*time.Minute).Format(time.RFC3339), now.Add(10*time.Minute).Format(time.RFC3339)
	if b, err = json.Marshal(summary); err != nil {
		t.Fatal(err)
	}
	sum := md5.Sum(b) //nolint:gosec // the checksum of an export
	for path, b := range map[string][]byte{found[0]: b, strings.TrimSuffix(found[0], ".json") + ".checksum": []byte(base64.StdEncoding.EncodeToString(sum[:]))} {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

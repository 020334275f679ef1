package dynamo_test

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/state/dynamo/dynamotest"
)

// Several processes can create the table at the same time, and all of them succeed.
func TestCreate(t *testing.T) {
	server := dynamotest.Open(t)
	client := server.Client("", nil)
	var all sync.WaitGroup
	for range 4 {
		db, err := dynamo.New(dynamo.Options{Client: server.Client("", nil), Table: table, Pipeline: "p"})
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			if err := errors.Join(db.CreateState(t.Context()), db.CreateState(t.Context())); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	d, err := client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String(table)})
	if err != nil {
		t.Fatal(err)
	}
	if b := d.Table.BillingModeSummary; b == nil || b.BillingMode != types.BillingModePayPerRequest {
		t.Errorf("it is billed by %v", b)
	}
	ttl, err := client.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: aws.String(table)})
	if err != nil {
		t.Fatal(err)
	}
	if ttl := ttl.TimeToLiveDescription; ttl.TimeToLiveStatus != types.TimeToLiveStatusEnabled || aws.ToString(ttl.AttributeName) != "expires" {
		t.Errorf("its TTL is %v of %s", ttl.TimeToLiveStatus, aws.ToString(ttl.AttributeName))
	}
}

// If an existing table cannot be used, the error says why, and the table stays unchanged.
func TestCreate_OtherTable(t *testing.T) {
	db := open(t, nil)
	is := dynamo.TableSpec{Name: "views", PK: dynamo.KeyAttribute{Name: "PK", Type: types.ScalarAttributeTypeS}, TTL: "ttl"}
	if err := db.Create(t.Context(), is); err != nil {
		t.Fatal(err)
	}
	for says, change := range map[string]func(*dynamo.TableSpec){
		"its key is PK (S), and id (S) is needed":         func(s *dynamo.TableSpec) { s.PK.Name = "id" },
		"its key is PK (S), and PK (N) is needed":         func(s *dynamo.TableSpec) { s.PK.Type = types.ScalarAttributeTypeN },
		"its key is PK (S), and PK (S), SK (B) is needed": func(s *dynamo.TableSpec) { s.SK = dynamo.KeyAttribute{Name: "SK", Type: types.ScalarAttributeTypeB} },
		"its TTL attribute is ttl, and expires is needed": func(s *dynamo.TableSpec) { s.TTL = "expires" },
	} {
		wanted := is
		change(&wanted)
		if err := db.Create(t.Context(), wanted); !pipeline.IsFatal(err) || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want a fatal error that says %q", err, says)
		}
	}
	any := is
	any.PK.Type, any.TTL = "", ""
	if err := db.Check(t.Context(), any); err != nil {
		t.Errorf("a key of any type: %v", err)
	}
	if got, err := db.Describe(t.Context(), "views"); err != nil || got.PK != is.PK || got.SK.Name != "" {
		t.Errorf("it is %+v, %v", got, err)
	}
}

// If the table is missing or may not be created, the error says what to do.
func TestCreate_Missing(t *testing.T) {
	var faults dynamotest.Faults
	db := open(t, &faults)
	spec := db.StateTable()
	spec.Name = "missing"
	if err := db.Check(t.Context(), spec); !errors.Is(err, dynamo.ErrNoTable) || !pipeline.IsFatal(err) || !strings.Contains(err.Error(), "--create") {
		t.Errorf("a missing table: %v", err)
	}
	faults.Next("CreateTable", dynamotest.Refuse(http.StatusBadRequest, "AccessDeniedException", "no"))
	if err := db.Create(t.Context(), spec); !errors.Is(err, dynamo.ErrDenied) || !pipeline.IsFatal(err) || !strings.Contains(err.Error(), "dynamodb:CreateTable") {
		t.Errorf("a table that may not be made: %v", err)
	}
	// The table is created, and the answer is lost.
	faults.Next("CreateTable", dynamotest.Lost())
	if err := db.Create(t.Context(), spec); err != nil {
		t.Errorf("a table whose making was not answered: %v", err)
	}
}

package dynamo_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/shardreader/leases/dynamo"
	statedynamo "github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/state/dynamo/dynamotest"
)

// Several processes may make the tables at once, and the sinks' side may be one of them.
func TestCreateTables(t *testing.T) {
	server := dynamotest.Open(t)
	for name, sinksFirst := range map[string]bool{"leases first": false, "sinks first": true} {
		t.Run(name, func(t *testing.T) {
			w := world{client: server.Client(t.Name(), nil)}
			table := w.another(t, dynamo.Options{})
			db, err := statedynamo.New(statedynamo.Options{Client: w.client, Table: "state", Pipeline: "p"})
			if err != nil {
				t.Fatal(err)
			}
			if err := table.Check(t.Context()); !pipeline.IsFatal(err) || !strings.Contains(err.Error(), "dynamodb: DescribeTable on leases: ") {
				t.Errorf("without tables: %v", err)
			}
			if sinksFirst {
				if err := db.CreateState(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() {
					if err := table.CreateTables(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if err := db.CreateState(t.Context()); err != nil {
				t.Error(err)
			}
			if err := table.CreateTables(t.Context()); err != nil {
				t.Error(err)
			}
			ttl, err := w.client.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: aws.String("state")})
			if err != nil || ttl.TimeToLiveDescription.TimeToLiveStatus != types.TimeToLiveStatusEnabled || aws.ToString(ttl.TimeToLiveDescription.AttributeName) != "expires" {
				t.Errorf("the TTL is %+v (%v)", ttl.TimeToLiveDescription, err)
			}
			if err := table.Heartbeat(t.Context(), leases.Member{ID: "a"}); err != nil {
				t.Error(err)
			}
		})
	}
}

// A table with another key is refused.
func TestCheck_AnotherTable(t *testing.T) {
	w := world{client: dynamotest.Open(t).Client(t.Name(), nil)}
	w.table(t, "leases", "leaseKey")
	w.table(t, "state", "id")
	table := w.another(t, dynamo.Options{})
	for _, err := range []error{table.Check(t.Context()), table.CreateTables(t.Context())} {
		if !pipeline.IsFatal(err) || !strings.Contains(err.Error(), "dynamodb: DescribeTable on state: its key is id (S), and pk (S), sk (S) is needed: name another table") {
			t.Errorf("%v", err)
		}
	}
	out, err := w.client.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: aws.String("state")})
	if err != nil || out.TimeToLiveDescription.TimeToLiveStatus == types.TimeToLiveStatusEnabled {
		t.Errorf("the refused table has a TTL: %+v (%v)", out, err)
	}
}

func TestNew(t *testing.T) {
	whole := dynamo.Options{Client: silent{}, Table: "leases", StateTable: "state", Pipeline: "shop"}
	if _, err := dynamo.New(whole); err != nil {
		t.Fatal(err)
	}
	for field, change := range map[string]func(*dynamo.Options){
		"Client is nil":                 func(o *dynamo.Options) { o.Client = nil },
		"Table is empty":                func(o *dynamo.Options) { o.Table = "" },
		"StateTable is empty":           func(o *dynamo.Options) { o.StateTable = "" },
		"StateTable is the lease table": func(o *dynamo.Options) { o.StateTable = "leases" },
		"Pipeline is empty":             func(o *dynamo.Options) { o.Pipeline = "" },
	} {
		o := whole
		change(&o)
		if _, err := dynamo.New(o); err == nil || !strings.Contains(err.Error(), "Options."+field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

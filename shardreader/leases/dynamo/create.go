package dynamo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/awserr"
)

// spec is the required schema of a table. All key attributes are strings.
type spec struct {
	name string
	key  []string
	ttl  string // TTL attribute; "" if the table needs none
}

func (t *Table) specs() []spec {
	return []spec{
		{name: t.o.Table, key: []string{attrKey}},
		{name: t.o.State, key: []string{attrPK, attrSK}, ttl: attrExpires},
	}
}

// CreateTables creates the lease table and the state table if they do not exist, and waits until they are active. New
// tables are billed on demand. Existing tables are checked and not changed, except that the TTL of the state table is
// enabled. Several processes may call it concurrently.
func (t *Table) CreateTables(ctx context.Context) error {
	specs := t.specs()
	errs := make([]error, len(specs))
	var wg sync.WaitGroup
	for i, s := range specs {
		wg.Go(func() { errs[i] = t.create(ctx, s) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return t.Check(ctx)
}

// Check waits until both tables are active, and finds the lease table's [Form]. The error is fatal if a table is
// missing or has another key. A damaged lease is not an error here, because [Table.Read] reports it.
func (t *Table) Check(ctx context.Context) error {
	for _, s := range t.specs() {
		if err := t.check(ctx, s); err != nil {
			return err
		}
	}
	_, err := t.knownForm(ctx)
	return err
}

func (t *Table) create(ctx context.Context, s spec) error {
	_, err := t.describe(ctx, s)
	if isMissing(err) {
		err = t.createTable(ctx, s)
	}
	if err == nil {
		err = t.check(ctx, s)
	}
	if err != nil {
		return err
	}
	return t.enableTTL(ctx, s)
}

func (t *Table) createTable(ctx context.Context, s spec) error {
	in := &dynamodb.CreateTableInput{TableName: &s.name, BillingMode: types.BillingModePayPerRequest}
	for i, k := range s.key {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: aws.String(k), AttributeType: types.ScalarAttributeTypeS})
		in.KeySchema = append(in.KeySchema, types.KeySchemaElement{AttributeName: aws.String(k), KeyType: []types.KeyType{types.KeyTypeHash, types.KeyTypeRange}[i]})
	}
	_, err := t.o.Client.CreateTable(ctx, in, sdkRetries)
	if _, exists := errors.AsType[*types.ResourceInUseException](err); exists { // another process was first, or our answer was lost
		return nil
	}
	return t.callError(ctx, "CreateTable", s.name, err)
}

func isMissing(err error) bool {
	_, ok := errors.AsType[*types.ResourceNotFoundException](err)
	return ok
}

func (t *Table) describe(ctx context.Context, s spec) (*types.TableDescription, error) {
	out, err := t.o.Client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &s.name}, sdkRetries)
	if err != nil {
		return nil, t.callError(ctx, "DescribeTable", s.name, err)
	}
	return out.Table, nil
}

func (t *Table) check(ctx context.Context, s spec) error {
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		d, err := t.describe(ctx, s)
		if err != nil {
			return err
		}
		switch d.TableStatus {
		case types.TableStatusActive, types.TableStatusUpdating, "":
			return s.checkKey(d)
		case types.TableStatusCreating:
		default:
			return pipeline.Fatal(&Error{Op: "DescribeTable", Table: s.name, Detail: "the table is " + string(d.TableStatus), Hint: "wait until it is ACTIVE, or use another one"})
		}
		if err := pipeline.Sleep(ctx, wait); err != nil {
			return t.callError(ctx, "DescribeTable", s.name, err)
		}
	}
}

// checkKey returns an error if the key of the table is not the key of s.
func (s spec) checkKey(d *types.TableDescription) error {
	var key []string
	for _, typ := range []types.KeyType{types.KeyTypeHash, types.KeyTypeRange} {
		for _, k := range d.KeySchema {
			if k.KeyType != typ {
				continue
			}
			name := aws.ToString(k.AttributeName)
			i := slices.IndexFunc(d.AttributeDefinitions, func(d types.AttributeDefinition) bool { return aws.ToString(d.AttributeName) == name })
			if i >= 0 && d.AttributeDefinitions[i].AttributeType != types.ScalarAttributeTypeS {
				name += " (" + string(d.AttributeDefinitions[i].AttributeType) + ")"
			}
			key = append(key, name)
		}
	}
	if slices.Equal(key, s.key) {
		return nil
	}
	return pipeline.Fatal(&Error{
		Op: "DescribeTable", Table: s.name,
		Detail: fmt.Sprintf("its key is %s, and %s is needed", strings.Join(key, ", "), strings.Join(s.key, ", ")),
		Hint:   "name another table",
	})
}

// enableTTL enables the TTL of a table that needs one. It does not change a TTL on another attribute. Then expired rows
// stay, which is harmless.
func (t *Table) enableTTL(ctx context.Context, s spec) error {
	if s.ttl == "" {
		return nil
	}
	out, err := t.o.Client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &s.name}, sdkRetries)
	if err != nil {
		return t.callError(ctx, "DescribeTimeToLive", s.name, err)
	}
	if d := out.TimeToLiveDescription; d != nil && d.TimeToLiveStatus != types.TimeToLiveStatusDisabled && d.TimeToLiveStatus != "" {
		return nil
	}
	_, refused := t.o.Client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName: &s.name, TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &s.ttl, Enabled: aws.Bool(true)},
	}, sdkRetries)
	if awserr.Code(refused) == "ValidationException" { // another process was first, or the TTL was changed within the last hour
		refused = nil
	}
	return t.callError(ctx, "UpdateTimeToLive", s.name, refused)
}

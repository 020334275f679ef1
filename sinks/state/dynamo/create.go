package dynamo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline"
)

// Attributes of the state table.
const (
	attrPK      = "pk"
	attrSK      = "sk"
	attrExpires = "expires" // Unix seconds: time when TTL may delete the item; absent if the item never expires
	attrWritten = "written" // Unix nanoseconds: time when the item was written; only items that expire have it
)

// TableSpec is the expected definition of a table.
type TableSpec struct {
	Name string
	PK   KeyAttribute
	SK   KeyAttribute // zero if the table has no sort key
	TTL  string       // TTL attribute, in Unix seconds; "" if no item expires
}

// KeyAttribute is one attribute of a table's key.
type KeyAttribute struct {
	Name string
	Type types.ScalarAttributeType // S, N or B
}

// StateTable returns the definition of the state table.
func (db *DB) StateTable() TableSpec {
	return TableSpec{
		Name: db.table,
		PK:   KeyAttribute{attrPK, types.ScalarAttributeTypeS},
		SK:   KeyAttribute{attrSK, types.ScalarAttributeTypeS},
		TTL:  attrExpires,
	}
}

// CreateState creates the state table if it is missing (see [DB.Create]), and records when the pipeline's state began.
func (db *DB) CreateState(ctx context.Context) error {
	if err := db.Create(ctx, db.StateTable()); err != nil {
		return err
	}
	_, err := db.StoreAge(ctx)
	return err
}

// Create creates a table if it is missing, and waits until it is active. A new table is billed on demand. Create checks
// an existing table as [DB.Check] does. If t has a TTL and TTL is disabled for the table, Create enables it. Create
// changes nothing else. Several processes may call it at once.
func (db *DB) Create(ctx context.Context, t TableSpec) error {
	d, err := db.describe(ctx, t.Name)
	if errors.Is(err, ErrNoTable) {
		if err = db.create(ctx, t); err == nil {
			d, err = db.describe(ctx, t.Name)
		}
	}
	if err == nil {
		err = db.check(ctx, t, d)
	}
	if err == nil && t.TTL != "" {
		err = db.enableTTL(ctx, t)
	}
	return err
}

func (db *DB) create(ctx context.Context, t TableSpec) error {
	in := &dynamodb.CreateTableInput{TableName: aws.String(t.Name), BillingMode: types.BillingModePayPerRequest}
	for i, k := range t.key() {
		in.AttributeDefinitions = append(in.AttributeDefinitions,
			types.AttributeDefinition{AttributeName: aws.String(k.Name), AttributeType: k.Type})
		in.KeySchema = append(in.KeySchema, types.KeySchemaElement{AttributeName: aws.String(k.Name),
			KeyType: []types.KeyType{types.KeyTypeHash, types.KeyTypeRange}[i]})
	}
	_, err := call(ctx, db, "CreateTable", t.Name, in, db.createIfMissing)
	return err
}

// createIfMissing calls CreateTable. It returns no error if the table exists, because another process may have created
// it, or an earlier answer was lost.
func (db *DB) createIfMissing(
	ctx context.Context, in *dynamodb.CreateTableInput, o ...func(*dynamodb.Options),
) (*dynamodb.CreateTableOutput, error) {
	out, err := db.client.CreateTable(ctx, in, o...)
	if _, exists := errors.AsType[*types.ResourceInUseException](err); exists {
		return out, nil
	}
	return out, err
}

// key returns the attributes of the key.
func (t TableSpec) key() []KeyAttribute {
	if t.SK.Name == "" {
		return []KeyAttribute{t.PK}
	}
	return []KeyAttribute{t.PK, t.SK}
}

// Check waits until the table is active. It returns a fatal error if the table is missing or has
// another key. If t has no Type for a key attribute, only the name is compared.
func (db *DB) Check(ctx context.Context, t TableSpec) error {
	d, err := db.describe(ctx, t.Name)
	if err != nil {
		return err
	}
	return db.check(ctx, t, d)
}

// check is Check for a table whose description d was read already.
func (db *DB) check(ctx context.Context, t TableSpec, d *types.TableDescription) (err error) {
	for try := 0; ; try++ {
		switch d.TableStatus {
		case types.TableStatusActive, types.TableStatusUpdating, "":
			return t.compare(d)
		case types.TableStatusCreating:
		default:
			return t.unusableError("DescribeTable", "the table is "+string(d.TableStatus),
				"wait until it is ACTIVE, or use another one")
		}
		if pipeline.Sleep(ctx, min(50*time.Millisecond<<min(try, 6), 2*time.Second)) != nil {
			return stoppedError(ctx)
		}
		if d, err = db.describe(ctx, t.Name); err != nil {
			return err
		}
	}
}

func (db *DB) describe(ctx context.Context, table string) (*types.TableDescription, error) {
	out, err := call(ctx, db, "DescribeTable", table, &dynamodb.DescribeTableInput{TableName: &table},
		db.client.DescribeTable)
	if err != nil {
		return nil, err
	}
	return out.Table, nil
}

// Describe returns the stored definition of a table, without its TTL.
func (db *DB) Describe(ctx context.Context, table string) (TableSpec, error) {
	d, err := db.describe(ctx, table)
	if err != nil {
		return TableSpec{}, err
	}
	return specOf(d), nil
}

func specOf(d *types.TableDescription) TableSpec {
	t := TableSpec{Name: aws.ToString(d.TableName)}
	for _, k := range d.KeySchema {
		a := KeyAttribute{Name: aws.ToString(k.AttributeName)}
		i := slices.IndexFunc(d.AttributeDefinitions,
			func(d types.AttributeDefinition) bool { return aws.ToString(d.AttributeName) == a.Name })
		if i >= 0 {
			a.Type = d.AttributeDefinitions[i].AttributeType
		}
		if k.KeyType == types.KeyTypeHash {
			t.PK = a
		} else {
			t.SK = a
		}
	}
	return t
}

// compare returns an error if the table's key differs from t.
func (t TableSpec) compare(d *types.TableDescription) error {
	found := specOf(d)
	same := func(a, b KeyAttribute) bool { return a.Name == b.Name && (a.Type == "" || a.Type == b.Type) }
	if same(t.PK, found.PK) && same(t.SK, found.SK) {
		return nil
	}
	return t.unusableError("DescribeTable", fmt.Sprintf("its key is %s, and %s is needed", found.keyText(), t.keyText()),
		"name another table, or change the key in the configuration")
}

// unusableError returns the error of a table that cannot be used.
func (t TableSpec) unusableError(op, detail, hint string) error {
	return pipeline.Fatal(&Error{Op: op, Table: t.Name, Action: -1, Detail: detail, Hint: hint})
}

func (t TableSpec) keyText() string {
	var names []string
	for _, k := range t.key() {
		if k.Type != "" {
			k.Name += " (" + string(k.Type) + ")"
		}
		names = append(names, k.Name)
	}
	return strings.Join(names, ", ")
}

// enableTTL enables TTL for a table if it is disabled. It returns an error if the table has TTL on another attribute,
// because items that should expire would stay.
func (db *DB) enableTTL(ctx context.Context, t TableSpec) error {
	enabled, err := db.hasTTL(ctx, t)
	if err != nil || enabled {
		return err
	}
	in := &dynamodb.UpdateTimeToLiveInput{
		TableName: &t.Name, TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &t.TTL,
			Enabled: aws.Bool(true)},
	}
	_, err = call(ctx, db, "UpdateTimeToLive", t.Name, in, db.client.UpdateTimeToLive)
	if !errors.Is(err, ErrInvalid) {
		return err
	}
	enabled, err = db.hasTTL(ctx, t) // another process may have enabled TTL first
	switch {
	case err != nil:
		return err
	case !enabled:
		return t.unusableError("UpdateTimeToLive", "its TTL was changed within the last hour, and cannot be yet",
			"enable TTL on "+t.TTL+" later, or start again then")
	}
	return nil
}

// hasTTL reports whether the table has a TTL on the expected attribute. It returns an error for a TTL on another
// attribute.
func (db *DB) hasTTL(ctx context.Context, t TableSpec) (bool, error) {
	out, err := call(ctx, db, "DescribeTimeToLive", t.Name, &dynamodb.DescribeTimeToLiveInput{TableName: &t.Name},
		db.client.DescribeTimeToLive)
	if err != nil {
		return false, err
	}
	d := out.TimeToLiveDescription
	if d == nil || d.TimeToLiveStatus != types.TimeToLiveStatusEnabled &&
		d.TimeToLiveStatus != types.TimeToLiveStatusEnabling {
		return false, nil
	}
	if found := aws.ToString(d.AttributeName); found != t.TTL {
		return false, t.unusableError("DescribeTimeToLive", "its TTL attribute is "+found+", and "+t.TTL+" is needed",
			"change the table's TTL, or name another table")
	}
	return true, nil
}

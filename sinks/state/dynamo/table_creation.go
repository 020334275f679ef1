package dynamo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
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
	found, err := db.describe(ctx, t.Name)
	if errors.Is(err, ErrNoTable) {
		if err = db.create(ctx, t); err != nil {
			return err
		}
		found, err = db.describe(ctx, t.Name)
	}
	if err != nil {
		return err
	}

	if err := db.check(ctx, t, found); err != nil {
		return err
	}
	if t.TTL == "" {
		return nil
	}
	return db.enableTTL(ctx, t)
}

func (db *DB) create(ctx context.Context, t TableSpec) error {
	in := &dynamodb.CreateTableInput{TableName: aws.String(t.Name), BillingMode: types.BillingModePayPerRequest}
	keyType := types.KeyTypeHash
	for _, k := range t.key() {
		in.AttributeDefinitions = append(in.AttributeDefinitions,
			types.AttributeDefinition{AttributeName: aws.String(k.Name), AttributeType: k.Type})
		in.KeySchema = append(in.KeySchema,
			types.KeySchemaElement{AttributeName: aws.String(k.Name), KeyType: keyType})
		keyType = types.KeyTypeRange // of the second attribute
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
	found, err := db.describe(ctx, t.Name)
	if err != nil {
		return err
	}
	return db.check(ctx, t, found)
}

// check is Check for a table whose description was read already.
func (db *DB) check(ctx context.Context, t TableSpec, found *types.TableDescription) (err error) {
	wait := 50 * time.Millisecond
	for found.TableStatus == types.TableStatusCreating {
		if pipeline.Sleep(ctx, wait) != nil {
			return stoppedError(ctx)
		}
		wait = min(2*wait, 2*time.Second)
		if found, err = db.describe(ctx, t.Name); err != nil {
			return err
		}
	}

	switch found.TableStatus {
	case types.TableStatusActive, types.TableStatusUpdating, "":
		return t.compare(found)
	}
	return t.unusableError("DescribeTable", "the table is "+string(found.TableStatus),
		"wait until it is ACTIVE, or use another one")
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

// specOf returns the definition of a described table, without its TTL.
func specOf(d *types.TableDescription) TableSpec {
	attributeTypes := make(map[string]types.ScalarAttributeType)
	for _, a := range d.AttributeDefinitions {
		attributeTypes[aws.ToString(a.AttributeName)] = a.AttributeType
	}

	spec := TableSpec{Name: aws.ToString(d.TableName)}
	for _, k := range d.KeySchema {
		name := aws.ToString(k.AttributeName)
		attribute := KeyAttribute{Name: name, Type: attributeTypes[name]}
		if k.KeyType == types.KeyTypeHash {
			spec.PK = attribute
		} else {
			spec.SK = attribute
		}
	}
	return spec
}

// compare returns an error if the table's key differs from t.
func (t TableSpec) compare(d *types.TableDescription) error {
	found := specOf(d)
	if t.PK.matches(found.PK) && t.SK.matches(found.SK) {
		return nil
	}
	return t.unusableError("DescribeTable", fmt.Sprintf("its key is %s, and %s is needed", found.keyText(), t.keyText()),
		"name another table, or change the key in the configuration")
}

// matches reports whether found has the name and the type of k. A k without a Type matches all types.
func (k KeyAttribute) matches(found KeyAttribute) bool {
	return k.Name == found.Name && (k.Type == "" || k.Type == found.Type)
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

	// The request is also invalid if another process enabled TTL first.
	enabled, err = db.hasTTL(ctx, t)
	if err != nil || enabled {
		return err
	}
	return t.unusableError("UpdateTimeToLive", "its TTL was changed within the last hour, and cannot be yet",
		"enable TTL on "+t.TTL+" later, or start again then")
}

// hasTTL reports whether the table has a TTL on the expected attribute. It returns an error for a TTL on another
// attribute.
func (db *DB) hasTTL(ctx context.Context, t TableSpec) (bool, error) {
	out, err := call(ctx, db, "DescribeTimeToLive", t.Name, &dynamodb.DescribeTimeToLiveInput{TableName: &t.Name},
		db.client.DescribeTimeToLive)
	if err != nil {
		return false, err
	}

	found := out.TimeToLiveDescription
	if found == nil {
		return false, nil
	}
	status := found.TimeToLiveStatus
	if status != types.TimeToLiveStatusEnabled && status != types.TimeToLiveStatusEnabling {
		return false, nil
	}

	if name := aws.ToString(found.AttributeName); name != t.TTL {
		return false, t.unusableError("DescribeTimeToLive", "its TTL attribute is "+name+", and "+t.TTL+" is needed",
			"change the table's TTL, or name another table")
	}
	return true, nil
}

// WhyNoTransaction returns the reason why a transaction cannot write both a table and the state table. It returns "" if
// a transaction can. A transaction works within one account and one Region. It cannot write to a table that is
// replicated with multi-Region strong consistency (DynamoDB Developer Guide, "Transactions").
func (db *DB) WhyNoTransaction(ctx context.Context, table string) (why string, err error) {
	var accounts []string // Region and account of each table
	for _, name := range []string{db.table, table} {
		d, err := db.describe(ctx, name)
		if err != nil {
			return "", err
		}
		if d.MultiRegionConsistency == types.MultiRegionConsistencyStrong {
			return "the table " + name + " is replicated with multi-Region strong consistency", nil
		}
		parsed, _ := arn.Parse(aws.ToString(d.TableArn)) // empty on a server without ARNs
		accounts = append(accounts, parsed.Region+":"+parsed.AccountID)
	}
	if accounts[0] != accounts[1] {
		return "the tables " + db.table + " and " + table + " are not in one account and Region (" + accounts[0] + " and " +
			accounts[1] + ")", nil
	}
	return "", nil
}

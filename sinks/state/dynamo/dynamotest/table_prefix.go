package dynamotest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
)

// prefix returns the start of the table names of a world.
func (s *Server) prefix(world string) string {
	sum := sha256.Sum256([]byte(world))
	return s.salt + "-" + hex.EncodeToString(sum[:5]) + "-"
}

// renaming is middleware that adds the prefix of a world to table names in requests, and removes it from table names in
// answers. It changes copies of the requests, because the caller owns the requests.
type renaming struct {
	server *Server
	prefix string
}

// ID returns the name of the middleware, as the SDK requires.
func (r *renaming) ID() string { return "World" }

// HandleInitialize renames the tables of the request and of the answer.
func (r *renaming) HandleInitialize(
	ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
) (middleware.InitializeOutput, middleware.Metadata, error) {
	switch p := in.Parameters.(type) {
	case *dynamodb.BatchGetItemInput:
		c := *p
		c.RequestItems = renameKeys(p.RequestItems, r.addPrefix)
		in.Parameters = &c
	case *dynamodb.TransactWriteItemsInput:
		c := *p
		c.TransactItems = slices.Clone(p.TransactItems)
		for i := range c.TransactItems {
			r.renameInAction(&c.TransactItems[i])
		}
		in.Parameters = &c
	default:
		in.Parameters = r.renameTables(p)
	}

	out, meta, err := next.HandleInitialize(ctx, in)
	if err != nil {
		return out, meta, err
	}

	if p, ok := in.Parameters.(*dynamodb.CreateTableInput); ok {
		r.server.noteTable(*p.TableName)
	}
	switch p := out.Result.(type) {
	case *dynamodb.BatchGetItemOutput:
		p.Responses = renameKeys(p.Responses, r.removePrefix)
		p.UnprocessedKeys = renameKeys(p.UnprocessedKeys, r.removePrefix)
	case *dynamodb.DescribeTableOutput:
		p.Table.TableName = aws.String(r.removePrefix(aws.ToString(p.Table.TableName)))
	}
	return out, meta, nil
}

// renameInAction replaces the part of an action that is set, such as Put, by a copy with the prefix in its table name.
func (r *renaming) renameInAction(action *types.TransactWriteItem) {
	fields := reflect.ValueOf(action).Elem()
	for i := range fields.NumField() {
		part := fields.Field(i)
		if part.Kind() == reflect.Pointer && !part.IsNil() {
			part.Set(reflect.ValueOf(r.renameTables(part.Interface())))
		}
	}
}

// renameTables returns a copy of a request, or of an action of a request, with the prefix in its table name. p is a
// pointer to the request or the action.
func (r *renaming) renameTables(p any) any {
	renamed := reflect.New(reflect.TypeOf(p).Elem())
	renamed.Elem().Set(reflect.ValueOf(p).Elem())
	if name := renamed.Elem().FieldByName("TableName"); name.IsValid() {
		name.Set(reflect.ValueOf(aws.String(r.addPrefix(name.Elem().String()))))
	}
	return renamed.Interface()
}

func (r *renaming) addPrefix(table string) string    { return r.prefix + table }
func (r *renaming) removePrefix(table string) string { return strings.TrimPrefix(table, r.prefix) }

func renameKeys[V any](m map[string]V, name func(string) string) map[string]V {
	renamed := make(map[string]V, len(m))
	for k, v := range m {
		renamed[name(k)] = v
	}
	return renamed
}

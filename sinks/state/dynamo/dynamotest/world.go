package dynamotest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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

// renaming is middleware that adds the prefix of a world to table names in requests, and removes
// it from answers. It changes copies, since the caller owns the requests.
type renaming struct {
	server *Server
	prefix string
}

// ID returns the name of the middleware, as the SDK requires.
func (r *renaming) ID() string { return "World" }

// HandleInitialize renames the tables of the request and of the answer.
func (r *renaming) HandleInitialize(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
	created := ""
	switch p := in.Parameters.(type) {
	case *dynamodb.PutItemInput:
		in.Parameters = copied(p, func(p *dynamodb.PutItemInput) { r.into(&p.TableName) })
	case *dynamodb.UpdateItemInput:
		in.Parameters = copied(p, func(p *dynamodb.UpdateItemInput) { r.into(&p.TableName) })
	case *dynamodb.DeleteItemInput:
		in.Parameters = copied(p, func(p *dynamodb.DeleteItemInput) { r.into(&p.TableName) })
	case *dynamodb.GetItemInput:
		in.Parameters = copied(p, func(p *dynamodb.GetItemInput) { r.into(&p.TableName) })
	case *dynamodb.QueryInput:
		in.Parameters = copied(p, func(p *dynamodb.QueryInput) { r.into(&p.TableName) })
	case *dynamodb.ScanInput:
		in.Parameters = copied(p, func(p *dynamodb.ScanInput) { r.into(&p.TableName) })
	case *dynamodb.CreateTableInput:
		in.Parameters = copied(p, func(p *dynamodb.CreateTableInput) { r.into(&p.TableName); created = *p.TableName })
	case *dynamodb.DeleteTableInput:
		in.Parameters = copied(p, func(p *dynamodb.DeleteTableInput) { r.into(&p.TableName) })
	case *dynamodb.DescribeTableInput:
		in.Parameters = copied(p, func(p *dynamodb.DescribeTableInput) { r.into(&p.TableName) })
	case *dynamodb.DescribeTimeToLiveInput:
		in.Parameters = copied(p, func(p *dynamodb.DescribeTimeToLiveInput) { r.into(&p.TableName) })
	case *dynamodb.UpdateTimeToLiveInput:
		in.Parameters = copied(p, func(p *dynamodb.UpdateTimeToLiveInput) { r.into(&p.TableName) })
	case *dynamodb.BatchGetItemInput:
		in.Parameters = copied(p, func(p *dynamodb.BatchGetItemInput) { p.RequestItems = keyed(p.RequestItems, r.inside) })
	case *dynamodb.TransactWriteItemsInput:
		in.Parameters = copied(p, func(p *dynamodb.TransactWriteItemsInput) {
			all := make([]types.TransactWriteItem, len(p.TransactItems))
			for i, a := range p.TransactItems {
				all[i] = r.action(a)
			}
			p.TransactItems = all
		})
	}
	out, meta, err := next.HandleInitialize(ctx, in)
	if err != nil {
		return out, meta, err
	}
	if created != "" {
		r.server.made(created)
	}
	switch p := out.Result.(type) {
	case *dynamodb.BatchGetItemOutput:
		p.Responses, p.UnprocessedKeys = keyed(p.Responses, r.outside), keyed(p.UnprocessedKeys, r.outside)
	case *dynamodb.DescribeTableOutput:
		p.Table.TableName = aws.String(r.outside(aws.ToString(p.Table.TableName)))
	}
	return out, meta, nil
}

func (r *renaming) action(a types.TransactWriteItem) types.TransactWriteItem {
	switch {
	case a.Put != nil:
		a.Put = copied(a.Put, func(p *types.Put) { r.into(&p.TableName) })
	case a.Update != nil:
		a.Update = copied(a.Update, func(p *types.Update) { r.into(&p.TableName) })
	case a.Delete != nil:
		a.Delete = copied(a.Delete, func(p *types.Delete) { r.into(&p.TableName) })
	case a.ConditionCheck != nil:
		a.ConditionCheck = copied(a.ConditionCheck, func(p *types.ConditionCheck) { r.into(&p.TableName) })
	}
	return a
}

func (r *renaming) inside(table string) string  { return r.prefix + table }
func (r *renaming) outside(table string) string { return strings.TrimPrefix(table, r.prefix) }
func (r *renaming) into(table **string)         { *table = aws.String(r.inside(aws.ToString(*table))) }

func copied[T any](p *T, change func(*T)) *T {
	c := *p
	change(&c)
	return &c
}

func keyed[V any](m map[string]V, name func(string) string) map[string]V {
	renamed := make(map[string]V, len(m))
	for k, v := range m {
		renamed[name(k)] = v
	}
	return renamed
}

// Package sdkvalue converts between the values of package item and the attribute values of the AWS SDK, for tables
// (dynamodb/types) and for streams (dynamodbstreams/types). No other package of the module's core knows the SDK's
// types.
//
// Conversions are exact and deep, and results share no bytes with their source. Numbers become canonical texts. A value
// of the SDK is checked in the same way as a value of a stream.
package sdkvalue

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline/item"
)

// Item returns m as an item of the SDK, or nil if the image does not exist.
func Item(m item.Image) map[string]types.AttributeValue {
	if !m.Exists() {
		return nil
	}
	item := make(map[string]types.AttributeValue, m.Len())
	for name, v := range m.All() {
		item[strings.Clone(name)] = Of(v)
	}
	return item
}

// Of returns v as an attribute value of the SDK, or nil if v is absent.
func Of(v item.Value) types.AttributeValue {
	switch v.Kind() {
	case item.KindS:
		return &types.AttributeValueMemberS{Value: text(v)}
	case item.KindN:
		return &types.AttributeValueMemberN{Value: number(v)}
	case item.KindB:
		return &types.AttributeValueMemberB{Value: binary(v)}
	case item.KindBOOL:
		b, _ := v.Bool()
		return &types.AttributeValueMemberBOOL{Value: b}
	case item.KindNULL:
		return &types.AttributeValueMemberNULL{Value: true}
	case item.KindM:
		m := make(map[string]types.AttributeValue, v.Len())
		for name, e := range v.Members() {
			m[strings.Clone(name)] = Of(e)
		}
		return &types.AttributeValueMemberM{Value: m}
	case item.KindL:
		return &types.AttributeValueMemberL{Value: convertEach(v, Of)}
	case item.KindSS:
		return &types.AttributeValueMemberSS{Value: convertEach(v, text)}
	case item.KindNS:
		return &types.AttributeValueMemberNS{Value: convertEach(v, number)}
	case item.KindBS:
		return &types.AttributeValueMemberBS{Value: convertEach(v, binary)}
	default:
		return nil
	}
}

func text(v item.Value) string {
	s, _ := v.Text()
	return strings.Clone(s)
}

func number(v item.Value) string {
	d, _ := v.Number()
	return d.String()
}

func binary(v item.Value) []byte {
	b, _ := v.Bytes()
	return append([]byte{}, b...)
}

// convertEach returns the converted elements of a list or a set.
func convertEach[T any](v item.Value, convert func(item.Value) T) []T {
	converted := make([]T, 0, v.Len())
	for _, e := range v.Elements() {
		converted = append(converted, convert(e))
	}
	return converted
}

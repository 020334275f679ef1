package sdkvalue

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/tablewake/tablewake/pipeline/item"
)

// Image returns the image of a table's item. A nil item is an image that does not exist. The error
// names the path of a value that DynamoDB cannot store.
func Image(item map[string]types.AttributeValue) (item.Image, error) {
	return image(item)
}

// StreamImage returns the image of an item in a stream's record. A nil item is an image that does
// not exist.
func StreamImage(item map[string]streams.AttributeValue) (item.Image, error) {
	return image(item)
}

// Value returns the value of a table's attribute.
func Value(v types.AttributeValue) (item.Value, error) {
	return value(v)
}

// StreamValue returns the value of an attribute in a stream's record.
func StreamValue(v streams.AttributeValue) (item.Value, error) {
	return value(v)
}

func image[T any](it map[string]T) (item.Image, error) {
	if it == nil {
		return item.Image{}, nil
	}
	doc, err := appendMembers(nil, it)
	if err != nil {
		return item.Image{}, fmt.Errorf("sdkvalue: item: %w", err)
	}
	m, err := item.Parse(doc)
	if err != nil {
		return item.Image{}, fmt.Errorf("sdkvalue: item: %w", err)
	}
	return m, nil
}

func value(av any) (item.Value, error) {
	doc, err := appendValue(nil, av)
	if err != nil {
		return item.Value{}, fmt.Errorf("sdkvalue: value: %w", err)
	}
	v, err := item.ParseValue(doc)
	if err != nil {
		return item.Value{}, fmt.Errorf("sdkvalue: value: %w", err)
	}
	return v, nil
}

var errText = errors.New("text is not UTF-8")

// appendValue appends av, of either package's types, as DynamoDB JSON. What JSON
// can't show is checked here, the rest by the reader of that JSON.
func appendValue(dst []byte, av any) (_ []byte, err error) {
	switch av := av.(type) {
	case *types.AttributeValueMemberS:
		return appendTagged(dst, "S", av.Value, appendText)
	case *streams.AttributeValueMemberS:
		return appendTagged(dst, "S", av.Value, appendText)
	case *types.AttributeValueMemberN:
		return appendTagged(dst, "N", av.Value, appendText)
	case *streams.AttributeValueMemberN:
		return appendTagged(dst, "N", av.Value, appendText)
	case *types.AttributeValueMemberB:
		return appendTagged(dst, "B", av.Value, appendBinary)
	case *streams.AttributeValueMemberB:
		return appendTagged(dst, "B", av.Value, appendBinary)
	case *types.AttributeValueMemberBOOL:
		return fmt.Appendf(dst, `{"BOOL":%t}`, av.Value), nil
	case *streams.AttributeValueMemberBOOL:
		return fmt.Appendf(dst, `{"BOOL":%t}`, av.Value), nil
	case *types.AttributeValueMemberNULL, *streams.AttributeValueMemberNULL:
		return append(dst, `{"NULL":true}`...), nil
	case *types.AttributeValueMemberM:
		return appendTagged(dst, "M", av.Value, appendMembers)
	case *streams.AttributeValueMemberM:
		return appendTagged(dst, "M", av.Value, appendMembers)
	case *types.AttributeValueMemberL:
		return appendTagged(dst, "L", av.Value, appendList)
	case *streams.AttributeValueMemberL:
		return appendTagged(dst, "L", av.Value, appendList)
	case *types.AttributeValueMemberSS:
		return appendTagged(dst, "SS", av.Value, listOf(appendText))
	case *streams.AttributeValueMemberSS:
		return appendTagged(dst, "SS", av.Value, listOf(appendText))
	case *types.AttributeValueMemberNS:
		return appendTagged(dst, "NS", av.Value, listOf(appendText))
	case *streams.AttributeValueMemberNS:
		return appendTagged(dst, "NS", av.Value, listOf(appendText))
	case *types.AttributeValueMemberBS:
		return appendTagged(dst, "BS", av.Value, listOf(appendBinary))
	case *streams.AttributeValueMemberBS:
		return appendTagged(dst, "BS", av.Value, listOf(appendBinary))
	default:
		return nil, fmt.Errorf("%T is no attribute value", av)
	}
}

func appendTagged[T any](dst []byte, tag string, content T, appendContent func([]byte, T) ([]byte, error)) ([]byte, error) {
	dst = append(dst, `{"`...)
	dst = append(dst, tag...)
	dst = append(dst, `":`...)
	dst, err := appendContent(dst, content)
	return append(dst, '}'), err
}

func appendText(dst []byte, s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return nil, errText
	}
	b, err := json.Marshal(s)
	return append(dst, b...), err
}

func appendBinary(dst, b []byte) ([]byte, error) {
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, b)
	return append(dst, '"'), nil
}

func appendList[T any](dst []byte, l []T) ([]byte, error) {
	return listOf(func(dst []byte, e T) ([]byte, error) { return appendValue(dst, e) })(dst, l)
}

func listOf[T any](appendElement func([]byte, T) ([]byte, error)) func([]byte, []T) ([]byte, error) {
	return func(dst []byte, l []T) (_ []byte, err error) {
		dst = append(dst, '[')
		for i, e := range l {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendElement(dst, e); err != nil {
				return nil, fmt.Errorf("[%d]: %w", i, err)
			}
		}
		return append(dst, ']'), nil
	}
}

// appendMembers appends a map sorted by name, so that equal items have equal bytes.
func appendMembers[T any](dst []byte, m map[string]T) (_ []byte, err error) {
	dst = append(dst, '{')
	for i, name := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendText(dst, name); err != nil {
			return nil, fmt.Errorf("name %q: %w", name, err)
		}
		dst = append(dst, ':')
		if dst, err = appendValue(dst, m[name]); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return append(dst, '}'), nil
}

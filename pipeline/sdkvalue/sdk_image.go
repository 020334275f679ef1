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

	"github.com/tablewake/tablewake/pipeline/item"
)

// Image returns the image of a table's item. A nil item is an image that does not exist. The error names the path of a
// value that DynamoDB cannot store.
func Image(it map[string]types.AttributeValue) (m item.Image, err error) {
	if it == nil {
		return m, nil
	}
	doc, err := appendMembers(nil, it)
	if err == nil {
		m, err = item.Parse(doc)
	}
	if err != nil {
		return item.Image{}, fmt.Errorf("sdkvalue: item: %w", err)
	}
	return m, nil
}

// Value returns the value of a table's attribute.
func Value(av types.AttributeValue) (v item.Value, err error) {
	doc, err := appendValue(nil, av)
	if err == nil {
		v, err = item.ParseValue(doc)
	}
	if err != nil {
		return item.Value{}, fmt.Errorf("sdkvalue: value: %w", err)
	}
	return v, nil
}

var errText = errors.New("text is not UTF-8")

// appendValue appends av as DynamoDB JSON. It rejects text that is not UTF-8, because JSON cannot show it. The parser
// of the JSON checks all else.
func appendValue(dst []byte, av types.AttributeValue) (_ []byte, err error) {
	switch av := av.(type) {
	case *types.AttributeValueMemberS:
		return appendTagged(dst, "S", av.Value, appendText)
	case *types.AttributeValueMemberN:
		return appendTagged(dst, "N", av.Value, appendText)
	case *types.AttributeValueMemberB:
		return appendTagged(dst, "B", av.Value, appendBinary)
	case *types.AttributeValueMemberBOOL:
		return fmt.Appendf(dst, `{"BOOL":%t}`, av.Value), nil
	case *types.AttributeValueMemberNULL:
		return append(dst, `{"NULL":true}`...), nil
	case *types.AttributeValueMemberM:
		return appendTagged(dst, "M", av.Value, appendMembers)
	case *types.AttributeValueMemberL:
		return appendTagged(dst, "L", av.Value, listOf(appendValue))
	case *types.AttributeValueMemberSS:
		return appendTagged(dst, "SS", av.Value, listOf(appendText))
	case *types.AttributeValueMemberNS:
		return appendTagged(dst, "NS", av.Value, listOf(appendText))
	case *types.AttributeValueMemberBS:
		return appendTagged(dst, "BS", av.Value, listOf(appendBinary))
	default:
		return nil, fmt.Errorf("%T is no attribute value", av)
	}
}

func appendTagged[T any](
	dst []byte, tag string, content T, appendContent func([]byte, T) ([]byte, error),
) ([]byte, error) {
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
func appendMembers(dst []byte, m map[string]types.AttributeValue) (_ []byte, err error) {
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

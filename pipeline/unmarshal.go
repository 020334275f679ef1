package pipeline

// Decode is m as a T, a struct or a map, by its `dynamodbav` tags, with the results
// of the AWS SDK's attributevalue. Errors are permanent and name the path.
func Decode[T any](m Image) (T, error) { panic("unmarshal") }

// DecodeInto decodes m into the struct or map that out points to.
func DecodeInto(m Image, out any) error { panic("unmarshal") }

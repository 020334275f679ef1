// Package unmarshal decodes images into Go values by their dynamodbav tags, as the SDK's attributevalue does.
//
// [Decode] finds the typePlan of the type, which is built once (planOf, fieldsOf). An imageDecoder then walks the
// image: attributes and members find the field of each name, content decodes a value by its tag and the plan's form,
// scalar ends the walk. Read unmarshal.go, plan.go and decode.go, then fields.go and scalar.go; memory.go has all of
// the package's unsafe, and the reasons why it is sound.
package unmarshal

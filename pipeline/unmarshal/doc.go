// Package unmarshal decodes images into Go values by their dynamodbav tags, as the SDK's attributevalue does.
//
// [Decode] finds the typePlan of the type, which is built once (planOf, fieldsOf). Then an imageDecoder walks the
// image. Its methods attributes and members find the struct field of each name. decodeContent decodes a value by its
// tag and by the form of the plan, and scalar decodes scalars. Read unmarshal.go, type_plan.go and image_decoder.go,
// then struct_fields.go and scalar_decoder.go. target_memory.go has all unsafe code of the package, and the reasons why
// it is sound.
package unmarshal

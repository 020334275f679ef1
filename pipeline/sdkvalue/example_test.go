package sdkvalue_test

import (
	"fmt"
	"log"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline/sdkvalue"
)

// An item of a GetItem answer becomes an image like those of stream changes, and then an item again.
func Example() {
	answer := map[string]types.AttributeValue{
		"PK":    &types.AttributeValueMemberS{Value: "ORDER#7"},
		"Total": &types.AttributeValueMemberN{Value: "19.90"},
		"Lines": &types.AttributeValueMemberL{Value: []types.AttributeValue{
			&types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"sku": &types.AttributeValueMemberS{Value: "shoe"}}},
		}},
	}
	image, err := sdkvalue.Image(answer)
	if err != nil {
		log.Fatal(err)
	}
	total, _ := image.Get("Total")
	number, _ := total.Number()
	fmt.Println("total", number)

	back := sdkvalue.Item(image)
	fmt.Println("key", back["PK"].(*types.AttributeValueMemberS).Value, "of", len(back), "attributes")

	answer["Total"] = &types.AttributeValueMemberN{Value: "ten"}
	_, err = sdkvalue.Image(answer)
	fmt.Println(err)
	// Output:
	// total 19.9
	// key ORDER#7 of 3 attributes
	// sdkvalue: item: DynamoDB JSON, byte 79, Total: not a number
}

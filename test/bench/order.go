package main

// order is the item of the usual record as a Go struct, for ours and for the SDK.
type order struct {
	PK, SK, Type, Status string
	Total                float64
	Currency             string
	CreatedAt            int64
	Paid                 bool
	Note                 string
	Coupon               *string
	Address              struct{ Street, City, Zip string }
	Tags                 []string
	Lines                []orderLine
}

type orderLine struct {
	SKU string `dynamodbav:"sku"`
	Qty int    `dynamodbav:"qty"`
}

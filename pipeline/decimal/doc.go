// Package decimal has the exact numbers of DynamoDB: 38 significant digits, from 1E-130 to 9.99E+125.
//
// [Parse] makes a [Decimal] from a text, [Of] from an integer. Read decimal.go, then decimal_syntax.go; uint128.go has
// the arithmetic.
package decimal

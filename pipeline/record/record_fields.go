package record

// field is a field of a record, of the object under dynamodb, or of another nested object.
type field uint8

const (
	fieldOther field = iota // a field that is not read
	fieldEventID
	fieldEventName
	fieldRegion
	fieldARN
	fieldTable
	fieldIdentity
	fieldDynamoDB
	fieldKinesis
	fieldRecords
	fieldTime
	fieldPrecision
	fieldKeys
	fieldNew
	fieldOld
	fieldSequence
	fieldSize
	fieldView
	fieldMetadata
	fieldType // this field and the following ones may be repeated; the last value counts
	fieldPrincipal
	fieldData
	fieldKinesisSequence
)

// fields is a set of the fields that a record has.
type fields uint32

func (s fields) has(f field) bool { return s>>f&1 != 0 }

func (s *fields) add(f field) { *s |= 1 << f }

// recordField returns the field of a name in a record's object.
func recordField(name []byte) field {
	switch string(name) {
	case "eventID":
		return fieldEventID
	case "eventName":
		return fieldEventName
	case "awsRegion":
		return fieldRegion
	case "eventSourceARN":
		return fieldARN
	case "tableName":
		return fieldTable
	case "userIdentity":
		return fieldIdentity
	case "dynamodb":
		return fieldDynamoDB
	case "kinesis":
		return fieldKinesis
	case "Records":
		return fieldRecords
	}
	return fieldOther
}

// streamField returns the field of a name in the object under dynamodb.
func streamField(name []byte) field {
	switch string(name) {
	case "Keys":
		return fieldKeys
	case "NewImage":
		return fieldNew
	case "OldImage":
		return fieldOld
	case "SequenceNumber":
		return fieldSequence
	case "ApproximateCreationDateTime":
		return fieldTime
	case "ApproximateCreationDateTimePrecision":
		return fieldPrecision
	case "StreamViewType":
		return fieldView
	case "SizeBytes":
		return fieldSize
	}
	return fieldOther
}

// identityField returns the field of a name under userIdentity. Lambda and the Streams API spell the names differently.
func identityField(name []byte) field {
	switch string(name) {
	case "type", "Type":
		return fieldType
	case "principalId", "PrincipalId":
		return fieldPrincipal
	}
	return fieldOther
}

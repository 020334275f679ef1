package record

// field is a field of a record, of its object or of that under dynamodb.
type field uint8

const (
	fieldOther field = iota // one that nobody asks for
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
	fieldType // from here on, the last one counts
	fieldPrincipal
	fieldData
	fieldKinesisSequence
)

// fields is a set of the fields that a record has.
type fields uint32

func (s fields) has(f field) bool { return s>>f&1 != 0 }

func (s *fields) add(f field) { *s |= 1 << f }

// outerField is a field of a record's object.
func outerField(name []byte) field {
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

// streamField is a field of the object under dynamodb.
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

// identityField takes both spellings: Lambda's and the Streams API's.
func identityField(name []byte) field {
	switch string(name) {
	case "type", "Type":
		return fieldType
	case "principalId", "PrincipalId":
		return fieldPrincipal
	}
	return fieldOther
}

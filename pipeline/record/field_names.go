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
	fieldType
	fieldPrincipal
	fieldData
	fieldKinesisSequence
)

// repeatable has the fields that may occur several times; the last value counts.
const repeatable fields = 1<<fieldType | 1<<fieldPrincipal | 1<<fieldData | 1<<fieldKinesisSequence

// fields is a set of fields.
type fields uint32

func (s fields) has(f field) bool { return s>>f&1 != 0 }

func (s *fields) add(f field) { *s |= 1 << f }

// Five objects have fields that are read: the record itself, the object under dynamodb, userIdentity, the object under
// kinesis, and the line of an incremental export. Each map has the fields of one object by name.
var (
	recordNames = map[string]field{
		"eventID": fieldEventID, "eventName": fieldEventName, "awsRegion": fieldRegion, "eventSourceARN": fieldARN,
		"tableName": fieldTable, "userIdentity": fieldIdentity, "dynamodb": fieldDynamoDB, "kinesis": fieldKinesis,
		"Records": fieldRecords,
	}
	streamNames = map[string]field{
		"Keys": fieldKeys, "NewImage": fieldNew, "OldImage": fieldOld, "SequenceNumber": fieldSequence,
		"ApproximateCreationDateTime": fieldTime, "ApproximateCreationDateTimePrecision": fieldPrecision,
		"StreamViewType": fieldView, "SizeBytes": fieldSize,
	}
	identityNames = map[string]field{
		"type": fieldType, "Type": fieldType, "principalId": fieldPrincipal, "PrincipalId": fieldPrincipal,
	}
	kinesisNames = map[string]field{"data": fieldData, "sequenceNumber": fieldKinesisSequence}
	lineNames    = map[string]field{"Metadata": fieldMetadata, "Keys": fieldKeys, "NewImage": fieldNew,
		"OldImage": fieldOld}
)

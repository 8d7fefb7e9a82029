package air

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
)

type verificationKey struct {
	form                                   form
	algorithm, public, ref, role, operator text
}

func (d *decoder) verificationKey() (k verificationKey) {
	o := d.object(R050)
	for o.next() {
		switch o.name {
		case "algorithm":
			k.algorithm = d.text()
		case "public_key":
			k.public = d.text()
		case "key_ref":
			k.ref = d.text()
		case "role":
			k.role = d.text()
		case "operator":
			k.operator = d.text()
		default:
			o.unknown()
		}
	}
	k.form = o.close(5)
	return k
}

const keysPath = "/verification_keys"

// publicKey is an included key that is what its reference says. It is no trust anchor (seed §7.4).
type publicKey struct {
	ref   string
	role  Role
	bytes [ed25519.PublicKeySize]byte
	fits  bool // the reference is this key's; false forbids its use
}

// keyring checks the included keys (R050, R051) and keeps those that a proof may name.
func (c *checker) keyring() {
	keys := c.b.keys
	if c.b.keysOK && len(keys) == 0 {
		c.fail(R050, at(keysPath))
	}
	c.keys = make([]publicKey, 0, len(keys))
	for i := range keys {
		c.includedKey(i, &keys[i])
	}
}

func (c *checker) includedKey(i int, k *verificationKey) {
	c.want(k.algorithm, isAlgorithm, R050, in(keysPath, i, "/algorithm"))
	c.want(k.operator, isIdentifier, R050, in(keysPath, i, "/operator"))
	role := c.want(k.role, isRole, R050, in(keysPath, i, "/role"))
	ref := c.want(k.ref, isKeyRef, R050, in(keysPath, i, "/key_ref"))
	key := publicKey{ref: k.ref.s}
	decodes := func(s string) bool { return decodeBase64(key.bytes[:], s) }
	public := c.want(k.public, decodes, R050, in(keysPath, i, "/public_key"))
	if !ref {
		return
	}
	for j := range c.keys { // at most 32
		if c.keys[j].ref == key.ref {
			c.fail(R050, in(keysPath, i, "/key_ref"))
			return
		}
	}
	if role {
		key.role = Role(k.role.s)
	}
	if key.fits = public && keyRefIs(key.ref, key.bytes[:]); public && !key.fits {
		c.fail(R051, in(keysPath, i, "/key_ref"))
	}
	c.keys = append(c.keys, key)
}

// KeyRef returns the reference of a raw Ed25519 public key (seed §5.5).
func KeyRef(key ed25519.PublicKey) string { return string(appendHash([]byte(keyRefPrefix), key)) }

func keyRefIs(ref string, key []byte) bool {
	var b [len(keyRefPrefix) + 2*sha256.Size]byte
	return ref == string(appendHash(append(b[:0], keyRefPrefix...), key))
}

func appendHash(dst, b []byte) []byte {
	sum := sha256.Sum256(b)
	return hex.AppendEncode(dst, sum[:])
}

// keyOf finds the included key that a proof names, and notes R052 when it is absent or has another role. It is nil also
// when the key can't be used, which R050 or R051 has said already.
func (c *checker) keyOf(ref text, role Role, p place) *publicKey {
	if !ref.is(isKeyRef) || !c.b.keysOK {
		return nil
	}
	for i := range c.keys {
		k := &c.keys[i]
		if k.ref != ref.s {
			continue
		}
		if k.role == role && k.fits {
			return k
		}
		if k.role == role || k.role == "" {
			return nil
		}
		break
	}
	c.fail(R052, p)
	return nil
}

// signed says whether an included key signed the message.
func (k *publicKey) signed(message []byte, signature *[ed25519.SignatureSize]byte) bool {
	return ed25519.Verify(k.bytes[:], message, signature[:])
}

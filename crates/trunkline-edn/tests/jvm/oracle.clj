;; Reads texts with Clojure's reader.
;;
;; Texts on stdin and stdout are UTF-8, each preceded by its length in bytes (32 bits, big endian). The answer to a
;; text is `!` and the error if it is not one form, or else two lines: the form in a notation that is distinct for
;; distinct values, and the form as JSON (`!` and the error if it has none).

(ns oracle
  (:require [clojure.edn :as edn]
            [clojure.string :as string])
  (:import (java.io BufferedInputStream BufferedOutputStream DataInputStream DataOutputStream EOFException
                    PushbackReader StringReader)
           (java.math MathContext)
           (java.time.format DateTimeFormatter)
           (java.util Date)))

(set! *warn-on-reflection* true)

;; Reading

;; The value of an unknown tag is compared. It can have metadata, like most values of Clojure.
(deftype Tagged [tag form metadata]
  clojure.lang.IObj
  (meta [_] metadata)
  (withMeta [_ metadata] (Tagged. tag form metadata))
  clojure.lang.IHashEq
  (hasheq [_] (hash [tag form]))
  Object
  (hashCode [_] (hash [tag form]))
  (equals [_ other]
    (and (instance? Tagged other) (= [tag form] [(.-tag ^Tagged other) (.-form ^Tagged other)]))))

(defn reader-of
  "The reader of a tag, which says so when it complains."
  [tag]
  (fn [form]
    (try
      ((default-data-readers tag) form)
      (catch Throwable problem (throw (ex-info (str "#" tag ": " (.getMessage problem)) {}))))))

(def readers {'inst (reader-of 'inst) 'uuid (reader-of 'uuid)})

(defn one-form
  "The only form of a text."
  [^String text]
  (let [reader (PushbackReader. (StringReader. text))
        end (Object.)
        options {:eof end :readers readers :default #(Tagged. %1 %2 nil)}
        form (edn/read options reader)]
    (when (identical? form end) (throw (ex-info "no form" {})))
    (when-not (identical? (edn/read options reader) end) (throw (ex-info "trailing form" {})))
    form))

;; The notation

(defn quoted
  "A string of printable ASCII, in which every other UTF-16 unit is a \\u escape."
  [^String text]
  (let [out (StringBuilder. "\"")]
    (doseq [c text]
      (let [code (int c)]
        (if (and (<= 32 code 126) (not= c \") (not= c \\))
          (.append out c)
          (.append out (format "\\u%04x" code)))))
    (str (.append out "\""))))

(defn bits [x] (format "%016x" (Double/doubleToLongBits x)))

(defn name-notation [sigil named]
  (str sigil (some-> (namespace named) quoted) "/" (quoted (name named))))

(declare notation)

(defn sorted [forms] (string/join " " (sort (map notation forms))))

(defn notation [x]
  (cond
    (nil? x) "nil"
    (boolean? x) (str x)
    (integer? x) (str x)
    (double? x) (str "d" (bits x))
    (decimal? x) (str x "M")
    (ratio? x) (str x)
    (char? x) (format "c%04x" (int x))
    (string? x) (quoted x)
    (symbol? x) (name-notation "s" x)
    (keyword? x) (name-notation "k" x)
    (inst? x) (str "i" (inst-ms x))
    (uuid? x) (str "u" x)
    (instance? Tagged x) (str "#" (notation (.-tag ^Tagged x)) " " (notation (.-form ^Tagged x)))
    (map? x) (str "{" (string/join " " (sort (for [[k v] x] (str (notation k) " " (notation v))))) "}")
    (set? x) (str "#{" (sorted x) "}")
    (vector? x) (str "[" (string/join " " (map notation x)) "]")
    (seq? x) (str "(" (string/join " " (map notation x)) ")")
    :else (throw (ex-info (str "what is " (class x) "?") {}))))

;; JSON, with sets and maps sorted by their notation. A float is `d` and its bits, for which digits stand
;; for it is a matter of taste.

(defn no-json [what] (throw (ex-info (str "no JSON for " what) {})))

(defn full-name [named]
  (if-let [space (namespace named)] (str space "/" (name named)) (name named)))

(defn timestamp [^Date date] (.format DateTimeFormatter/ISO_INSTANT (.toInstant date)))

(defn json-key [k]
  (cond
    (string? k) k
    (or (keyword? k) (symbol? k)) (full-name k)
    (or (char? k) (boolean? k) (integer? k) (uuid? k)) (str k)
    (inst? k) (timestamp k)
    :else (no-json (str "a key of " (class k)))))

(defn json-float [x]
  (if (or (Double/isNaN x) (Double/isInfinite x)) (no-json x) (str "d" (bits x))))

(defn nearest-float
  "Clojure's own `double` rounds to 16 decimal digits on the way."
  [ratio]
  (.doubleValue (.divide (bigdec (numerator ratio)) (bigdec (denominator ratio)) (MathContext. 100))))

(declare json)

(defn json-object [x]
  (let [entries (sort-by (comp notation key) x)
        texts (map (comp json-key key) entries)]
    (when-not (or (empty? texts) (apply distinct? texts)) (no-json "keys with one text"))
    (str "{" (string/join "," (map #(str (quoted %1) ":" (json (val %2))) texts entries)) "}")))

(defn json [x]
  (cond
    (nil? x) "null"
    (or (boolean? x) (integer? x) (decimal? x)) (str x)
    (double? x) (json-float x)
    (ratio? x) (json-float (nearest-float x))
    (string? x) (quoted x)
    (or (char? x) (uuid? x)) (quoted (str x))
    (or (keyword? x) (symbol? x)) (quoted (full-name x))
    (inst? x) (quoted (timestamp x))
    (map? x) (json-object x)
    (set? x) (str "[" (string/join "," (map json (sort-by notation x))) "]")
    (sequential? x) (str "[" (string/join "," (map json x)) "]")
    :else (no-json (class x))))

;; Answers

(defn complaint [^Throwable problem]
  (str "!" (.getSimpleName (class problem)) ": " (some-> (.getMessage problem) string/split-lines first)))

(defn answer [text]
  (try
    (let [form (one-form text)]
      (str (notation form) "\n" (try (json form) (catch Exception problem (complaint problem)))))
    (catch Throwable problem (complaint problem))))

(let [in (DataInputStream. (BufferedInputStream. System/in))
      out (DataOutputStream. (BufferedOutputStream. System/out))]
  (try
    (while true
      (let [text (byte-array (.readInt in))]
        (.readFully in text)
        (let [answer (.getBytes ^String (answer (String. text "UTF-8")) "UTF-8")]
          (.writeInt out (alength answer))
          (.write out answer 0 (alength answer)))))
    (catch EOFException _ (.flush out))))

"""The French and English words an answer is made of, without accents and in lower case."""

from __future__ import annotations


def of(text: str) -> frozenset[str]:
    """The words and marks of a text."""
    return frozenset(text.split())


Phrases = dict[str, tuple[tuple[str, ...], ...]]
"""Phrases by their first word, longest first."""


def phrases(*texts: str) -> Phrases:
    """Phrases, one a text, by their first word."""
    split = sorted((tuple(text.split()) for text in texts), key=len, reverse=True)
    return {phrase[0]: tuple(p for p in split if p[0] == phrase[0]) for phrase in split}


# What is being answered ---------------------------------------------------------------------------------------

#: Nouns that announce the answer itself.
ANSWER_NOUNS = of("answer answers ans rep response responses reponse reponses solution solutions")
#: Nouns for one of the options; they announce an answer only with an adjective, a colon or nothing else.
ITEM_NOUNS = of(
    "option options choice choices choix proposition propositions item items affirmation affirmations assertion"
    " assertions statement statements enonce enonces lettre lettres letter letters alternative alternatives"
    " selection selections exception exceptions suggestion suggestions cas case cases question q qcm qcs qrm qru"
    " combinaison combinaisons combination combinations"
)
#: Ordinals and numbers count options only beside these.
COUNTED_NOUNS = of(
    "option options choice choices choix proposition propositions item items affirmation affirmations assertion"
    " assertions statement statements enonce enonces reponse reponses answer answers alternative alternatives one"
)
ORDINALS = {
    word: position
    for position, words in enumerate(
        (
            "first 1st premiere premier 1ere 1er",
            "second 2nd deuxieme seconde 2eme 2e",
            "third 3rd troisieme 3eme 3e",
            "fourth 4th quatrieme 4eme 4e",
            "fifth 5th cinquieme 5eme 5e",
            "sixth 6th sixieme 6eme 6e",
            "seventh 7th septieme 7eme 7e",
            "eighth 8th huitieme 8eme 8e",
        )
    )
    for word in words.split()
} | {"last": -1, "derniere": -1, "dernier": -1}

# How an option is judged --------------------------------------------------------------------------------------

TRUE_WORDS = of(
    "vrai vraie vrais vraies true correct correcte corrects correctes exact exacte exacts exactes juste justes right"
    " valid valide valides validee validees valable valables ok accurate supported"
    " retenu retenue retenus retenues accepted ✓"
)
FALSE_WORDS = of(
    "faux fausse fausses false incorrect incorrecte incorrects incorrectes inexact inexacte inexacts inexactes wrong"
    " errone erronee errones erronees invalid invalide invalides untrue inaccurate unsupported"
    " exclu exclue exclus exclues excluded"
    " ecarte ecartee ecartes ecartees elimine eliminee elimines eliminees eliminated ruled rejete rejetee"
    " rejetees rejected"
    " refute refutee mauvaise mauvaises mauvais unlikely improbable inapproprie inappropriee inappropriate ✗"
)
#: "A et D sont à retenir."
TO_KEEP = of("retenir cocher valider garder conserver selectionner")
TO_DROP = of("exclure ecarter eliminer rejeter")
#: Verdicts only where they stand alone beside the letter ("A : oui").
TRUE_MARKS = of("oui yes y v t o")
FALSE_MARKS = of("non no n f")
#: Praise is a verdict with a noun ("the best answer") or in the superlative ("the most likely").
PRAISE = of(
    "bon bonne bons bonnes best meilleur meilleure meilleures better likely probable probables appropriate appropriee"
    " suitable preferable adaptee adapte adequate plausible"
)
SUPERLATIVES = of("most more plus")
LESS = of("less least moins")
VERDICT_WORDS = TRUE_WORDS | FALSE_WORDS
VERDICT_MARKS = TRUE_MARKS | FALSE_MARKS
#: These make a verdict neither true nor false.
PARTLY = of("partiellement partly partially presque almost somewhat potentiellement potentially discutable")
#: After "faux", "vrai", "false", "right" ... these make a term of the field, not a verdict.
NOT_AFTER_VERDICT = of(
    "positif positifs positive positives positivite negatif negatifs negative negatives rate taux ventricle ventricular"
    " ventricule atrium atrial lung kidney side hand arm leg lobe hemisphere shoulder coronary upper lower sided random"
    " croup ribs vocal labor labour"
)
#: Adjectives that say an announced list is the right one.
ASSERTIVE = TRUE_WORDS | PRAISE | of("final finale finales definitive choisie choisies chosen selected retenir")

# Grammar ------------------------------------------------------------------------------------------------------

COPULAS = of(
    "is are was were be being est sont etait etaient sera seront serait seraient etre soit correspond corresponds"
    " correspondent remains reste restent agit porte portent includes include comprennent comprend : = → -"
)
CONDITIONALS = of("would could serait seraient aurait auraient")
#: Words that may stand between an announcement and its letters.
GLUE = (
    ASSERTIVE
    | ITEM_NOUNS
    | ANSWER_NOUNS
    | CONDITIONALS
    | SUPERLATIVES
    | of(
        "the a an se sur la le les l' un une des de d' du au aux to que qu' that which qui as comme only"
        " seule seules seul seuls uniquement seulement solely just both deux trois quatre cinq two three four"
        " five also aussi egalement too donc thus so therefore hence then alors ainsi clearly bien"
        " effectivement indeed definitely simply simplement finally finalement probably probablement"
        " logiquement logically certainly certainement here ici my ma mes mon your votre vos our notre nos"
        " will should must devrait doit doivent have has been ont ete being etant n° no number numero"
        " following suivante suivantes suivants s in most ones one celles celle i je nous we il elle elles"
        " they cocher by far selon moi overall ultimately actually en fait against donnee donnees given"
        " multiple single unique fois apres relecture verification reflexion"
    )
)
NEGATIONS = of(
    "not pas isn't aren't wasn't weren't don't doesn't didn't can't cannot won't wouldn't shouldn't couldn't"
    " jamais never non isnt arent dont nor ni neither excluding sauf"
)
#: "ne" and "n'" alone already deny in "ni A ni B ne sont exactes".
PARTICLES = of("ne n'")
DENIALS = NEGATIONS | PARTICLES
CONJUNCTIONS = of("et and & plus puis und y") | {","}
EITHER = of("ou or soit")
REASONS = of(
    "because car since as puisque parce etant due given for pour selon d'apres with avec grace comme based where which"
    " whereas tandis alors so donc thus therefore in dans en from when if si but mais while however cependant"
    " toutefois is are est sont was et and ou or if by que qu' at here ici though although bien only uniquement"
    " selon too either also aussi than plutot rather instead"
)
HEDGES = of("maybe perhaps possibly eventuellement possiblement might may peut")
BUT = of("but mais rather plutot instead however cependant toutefois though neanmoins nevertheless yet")
ALSO = of("also aussi egalement too")
INSTEAD_OF = phrases(
    "plutot que",
    "plutot qu'",
    "rather than",
    "instead of",
    "au lieu de",
    "et non",
    "et pas",
    "and not",
    "as opposed to",
    "over",
    "not",
    "pas",
    "non",
    "sauf",
    "except",
    "excluding",
    "hors",
    "without",
    "sans",
)

# Ways to announce a choice ------------------------------------------------------------------------------------

#: "Correction : B, D" and "Je me corrige : A" replace what was announced before.
CORRECTING = of(
    "correction erratum rectification edit corrige rectifie modifie change revise correcting changing revising"
    " retire ajoute remplace"
)
#: "Attendez…", "Wait,": the conclusion that follows replaces what was announced before.
TAKING_BACK = of("attendez attends wait oops pardon hmm erreur stop actually non no")
#: "C fits best", "B explique le mieux".
FITTING = of(
    "fits fit matches match explains explain describes describe suits suit accounts represents correspond"
    " corresponds correspondent explique expliquent decrit convient conviennent repond repondent"
)
CHOOSING = of(
    "choose chose chosen choosing pick picked picking select selected selecting choisis choisirais choisi choisit"
    " choisissons choisirai retiens retiendrais retiendrai retient retenons retiendra coche cocher cocherais cochez"
    " selectionne selectionnerais selectionner opte opterais opterai reponds repondrais repondrai garde gardons valide"
    " penche pencherais vote favor favour choisir retenir answering repondre"
)
#: Those whose choice is not the model's: "students often pick C".
THIRD_PARTIES = of(
    "students student people many some others candidates one they patients beginners clinicians physicians residents"
    " who etudiants certains beaucoup ils elles plusieurs might"
)
#: Choosing verbs that need their preposition.
CHOOSING_WITH = {
    "go": {"with", "for"},
    "going": {"with", "for"},
    "opt": {"for"},
    "opting": {"for"},
    "lean": {"towards"},
    "change": {"to", "pour"},
    "changing": {"to"},
    "switch": {"to"},
    "switching": {"to"},
}
#: Saying verbs: an answer only when the sentence ends with the letters.
SAYING = of(
    "say guess think believe pense dirais crois estime suppose suspect presume bet dire parie reste restent leaves"
    " leaving"
)
CONCLUDING = of(
    "only uniquement seulement seule seules seuls donc so thus hence therefore ainsi → finalement finally"
    " overall conclusion bref alors"
)
POINTING = of("it c' ce this that it's that's s' cela")
POINTING_COPULAS = of("is est sont was would be serait sera agit should must it's that's")

# All and none -------------------------------------------------------------------------------------------------

ALL_WORDS = of("all toutes tous tout every each everything ensemble integralite totalite chacune chacun chaque")
NONE_WORDS = of("none aucune aucun neither nothing nul nulle rien")
QUANTIFIED = (
    ITEM_NOUNS
    | ANSWER_NOUNS
    | of(
        "of the these those above them les des de d' ces l' la ci dessus citees proposees enoncees entre elles eux ceux"
        " listed given five four three five cinq quatre trois six here ici is are est sont seem a cocher ne n' sont"
        " donc c' c'est be sera serait also bonne bonnes possible possibles est ete etre i would say for me above"
        " mentioned suivantes precedentes convient conviennent apply applies fit fits"
        " correspond correspondent article texte"
        " present presente presents presentes mentionne mentionnee mentionnes mentionnees cite cites citees"
    )
)
EXCEPT = phrases(
    "sauf",
    "except for",
    "except",
    "but not",
    "but",
    "excepte",
    "exceptee",
    "excluding",
    "hormis",
    "hors",
    "a l' exception de",
    "a l' exception des",
    "a l' exclusion de",
    "a part",
    "en dehors de",
    "other than",
    "autres que",
    "mais pas",
    "with the exception of",
    "apart from",
    "moins",
    "minus",
)
NUMBERS = {
    word: number
    for number, pair in enumerate(("two deux", "three trois", "four quatre", "five cinq", "six six"), start=2)
    for word in (*pair.split(), str(number))
}
#: "A est exacte, de même que E."
LIKEWISE = phrases("de meme que", "ainsi que", "tout comme", "as is", "as are", "and so is", "as well as", "comme")
#: Before a list that opens a reply.
OPENINGS = phrases(
    "a la fois",
    "probablement",
    "surement",
    "uniquement",
    "seulement",
    "sans doute",
    "selon moi",
    "a mon avis",
    "pour moi",
    "in my opinion",
    "for me",
)
#: Between the items of a list.
JOINING = phrases("de meme que", "ainsi que", "tout comme", "as well as", "along with", "together with")
OTHERS = of("autres autre others rest remaining reste")
ONLY = of("only seulement seule seules seul seuls uniquement solely")

# Where a letter is part of a term -----------------------------------------------------------------------------

#: "vitamine C", "bras A", "hepatitis B": the letter belongs to the word before it.
TERMS = of(
    "vitamin vitamins vitamine vitamines vit hepatitis hepatite hepatites facteur facteurs factor factors"
    " groupe groupes"
    " group groups bras arm arms stade stades stage stages grade grades type types phase phases classe classes class"
    " classification protein proteins proteine proteines hemoglobin hemoglobine streptocoque streptocoques"
    " streptococcus streptococci strep influenza influenzae grippe virus table tables tableau tableaux figure figures"
    " fig annexe appendix supplement cohorte cohort cohortes lymphocyte lymphocytes immunoglobulin immunoglobuline"
    " complement test tests plan point zone level niveau category categories categorie child pugh cluster patient"
    " patiente patients drug medicament traitement treatment treatments therapy produit product molecule etude study"
    " trial essai hospital hopital center centre partie section antigen antigene peptide penicillin"
    " penicilline amphotericin amphotericine coenzyme toxin toxine apolipoprotein apolipoproteine hemophilia hemophilie"
    " courbe curve axe axis derivation bande souche strain forme colonne column row ligne serogroupe serogroup serotype"
    " genotype haplotype phenotype clinique ville city country pays panel box step etape model modele scenario echelle"
    " sexe score critere intervention strategie strategy population sujet subject medecin doctor dr echantillon sample"
    " recommandation evidence preuve allele chaine chain subunit exposition exposure variable event evenement"
    " condition syndrome sommet vessel kerley ig cyclosporin ciclosporine botulinum chromosome quartile bloc block bleu"
)
#: "B cells", "A band": the letter belongs to the word after it.
TERM_TAILS = of(
    "cell cells cellule cellules lymphocyte lymphocytes band bands wave waves lines peptide fiber fibers fibres fibre"
    " section sections antigen antigens antigene blood virus toxin vitamin vitamins scan streptococcus strep"
    " subunit chain"
)
#: Species after an abbreviated genus: "C. difficile", "E. coli".
SPECIES = of(
    "coli difficile albicans aureus pneumoniae burgdorferi trachomatis perfringens botulinum tetani jejuni anthracis"
    " cereus pertussis fragilis faecalis faecium diphtheriae neoformans auris histolytica baumannii fumigatus"
    " lumbricoides henselae psittaci granulosus glabrata krusei immitis cloacae lamblia pylori influenzae elegans"
    " melanogaster abortus melitensis canis dermatitidis latum medinensis freundii gattii flavus niger aegypti"
)

# No answer ----------------------------------------------------------------------------------------------------

#: Sentences that decline to answer, as folded words.
REFUSALS = (
    "ne peux pas repondre", "ne peux pas determiner", "ne peux repondre", "ne peux pas choisir", "ne peux pas donner",
    "ne peux pas fournir", "ne peux pas vous", "ne peux pas identifier", "ne peux pas conclure", "ne peux pas dire",
    "ne peux pas me prononcer", "ne peux pas evaluer", "ne peux pas savoir", "ne peux pas vraiment",
    "peux pas repondre",
    "ne suis pas en mesure", "ne suis pas capable", "suis incapable", "dans l' incapacite", "incapable de",
    "impossible de", "impossible a", "il est impossible", "ne sais pas", "sais pas", "ne permet pas de repondre",
    "ne permettent pas de", "ne permet pas de conclure", "ne permet pas de determiner", "pas assez d'",
    "pas suffisamment",
    "informations insuffisantes", "information insuffisante", "insuffisantes pour", "ne dispose pas", "n' ai pas acces",
    "n' ai pas assez", "n' ai pas suffisamment", "besoin de l' article", "sans l' article", "veuillez fournir",
    "pourriez vous fournir", "desole", "ne peut pas etre determinee", "ne peut etre determinee",
    "on ne peut pas repondre",
    "on ne peut pas determiner", "on ne peut pas conclure", "on ne peut pas savoir", "ne peut pas repondre",
    "sans reponse",
    "i cannot", "i can't", "i can not", "i am unable", "i'm unable", "unable to", "i don't know", "don't know",
    "do not know", "i am not sure", "i'm not sure", "not sure", "cannot be determined", "can't be determined",
    "cannot determine", "cannot answer", "can't answer", "impossible to", "not enough information",
    "insufficient information", "insufficient data", "not possible to", "as an ai", "i'm sorry", "i am sorry",
    "sorry", "i apologize", "no idea", "aucune idee", "not able to", "please provide", "could you provide",
    "i do not have", "i don't have", "need more information", "more information is needed", "n / a", "cannot provide",
    "can't provide", "cannot tell", "can't tell", "cannot be answered", "refuse to", "refuse de", "pas certain de",
)  # fmt: skip
HYPOTHESES = of("if si suppose supposing supposons")
FIRST_PERSON = of("i je j' forced fallait")

#: Words a bare option text may not be taken for: as ordinary words they mean something else here.
RESERVED = frozenset[str]().union(
    *(TRUE_WORDS, FALSE_WORDS, TRUE_MARKS, FALSE_MARKS, PRAISE, SUPERLATIVES, LESS, PARTLY, ALL_WORDS, NONE_WORDS),
    *(GLUE, COPULAS, NEGATIONS, PARTICLES, CONJUNCTIONS, EITHER, REASONS, HEDGES, BUT, OTHERS, QUANTIFIED, TERMS),
    *(CHOOSING, SAYING, CONCLUDING, POINTING),
    of("na null nan n/a nil unknown other autre"),
)
#: Words that tell nothing of an option of several words; "Factor V" is told by its noun.
UNTELLING = RESERVED - TERMS

#: Words beside the letters of a list.
BEFORE_LETTERS = ITEM_NOUNS | ANSWER_NOUNS | of("la le les l' the both n° number numero and et aussi also soit de of")

#: Words between letters and their verdict.
BEFORE_VERDICT = of("me m' nous a pouvoir look looks sound sounds can could peuvent doivent doit") | (
    COPULAS
    | PARTICLES
    | NEGATIONS
    | ITEM_NOUNS
    | CONDITIONALS
    | of(
        "donc bien also aussi egalement both toutes tous all deux trois quatre clairement clearly definitely"
        " la le les the l' un une a an des seule seules seul only therefore thus indeed effectivement"
        " considered consideree considerees comme as plus more most moins less least tres very completely"
        " totally totalement entierement tout fait certainement surely sans doute scientifiquement factually"
        " cette ce this that c' it seem seems semble semblent parait paraissent appears appear devrait"
        " probably probablement verdict en effet here one ones of my ma mon evaluation statut status reponse"
        " obviously not evidemment by far plutot"
    )
)

#: After these a capital A is the letter, not the article.
AFTER_LETTER_A = (
    of("nor ni neither aussi egalement also too non oui yes no ainsi as de tout")
    | TRUE_WORDS
    | FALSE_WORDS
    | PARTICLES
    | of(
        "is are est sont was were isn't aren't et and ou or because since puisque parce seulement only to"
        " fits matches explains describes suits accounts represents remains appears"
        " through thru plutot rather a plus puis then uniquement donc would seems semble"
    )
)

"""What RDKit makes of molecules, for the test data/smiles.

    python tests/golden/molecules.py OUT        (rdkit)

OUT/molecules.tsv: a SMILES, its atoms as element,charge,aromatic, and its bonds as
atom,atom,kind (0 single, 1 double, 2 triple, 3 quadruple, 4 aromatic), between tabs.
"""
import sys

from rdkit import Chem

KINDS = ["SINGLE", "DOUBLE", "TRIPLE", "QUADRUPLE", "AROMATIC"]
MOLECULES = """
C CCO C=C C#N C$C [Na+].[Cl-] [OH-].[K+] [Fe+2] [Cu++] *C [*]C [13CH4] [CH3:1]C [2H]C [H][H]
[H]C([H])([H])O C1CC1 C%12CCCC%12 C%(12)CCCC%(12) C=1CCCCC1 C1CCCCC=1 F/C=C/F N[C@@H](C)C(=O)O
c1ccccc1 C1=CC=CC=C1 c1ccccc1c1ccccc1 c1ccccc1-c1ccccc1 c1ccc2c(c1)c1ccccc12 C1c2ccccc2c3ccccc13
c1ccc2c(c1)c3cccc4cccc2c34 c1ccc2cccc-2cc1 C1=CC2=CC=CC=C2C=C1 c12ccccc1cccc2 [nH]1cccc1 C1=CNC=C1
c1ccncc1 c1cc[nH+]cc1 c1ccoc1 C1=COC=C1 c1ccsc1 [se]1cccc1 [te]1cccc1 [cH-]1cccc1 [cH+]1cccccc1
C1=CCC=C1 O=C1C=CC(=O)C=C1 O=c1cc[nH]cc1 O=c1[nH]cnc2[nH]cnc12 Cn1cnc2c1c(=O)n(C)c(=O)n2C
CN(=O)=O O=N(=O)c1ccccc1 CN=N#N Nc1cc(nc(N)n1=O)N2CCCCC2 CCn1/c(=N/C(C)=O)sc2cc(F)ccc21
CC1=c2ccccc2=[NH+][C@@H]1C c1c(OC)c(OC)C2C(=O)OCC2c1 C1=CC=CC=CC=C1 c1ccc2[nH]ccc2c1
CC(=O)Oc1ccccc1C(=O)O CC(C)Cc1ccc(cc1)C(C)C(=O)O S(=O)(=O)(O)O O=S1(=O)C=CC=C1 B(O)O
C[Si](C)(C)C C[N+](C)(C)C c1ccc2c(c1)ccc1ccccc12 C1=CC2=C3C(=C1)C=CC3=CC=C2 c1cc2ccc3cccc4ccc(c1)c2c34
C1=CN2C=CC=C2C=C1 O=C1NC(=O)c2ccccc12 [O-][n+]1ccccc1 C[S+](C)[O-] c1nnn[nH]1 C1=CSC(=N1)N
"""


def line(smiles):
    m = Chem.MolFromSmiles(smiles)
    atoms = [f"{a.GetAtomicNum()},{a.GetFormalCharge()},{int(a.GetIsAromatic())}"
             for a in m.GetAtoms()]
    bonds = [f"{min(b.GetBeginAtomIdx(), b.GetEndAtomIdx())},"
             f"{max(b.GetBeginAtomIdx(), b.GetEndAtomIdx())},{KINDS.index(str(b.GetBondType()))}"
             for b in m.GetBonds()]
    return f"{smiles}\t{' '.join(atoms)}\t{' '.join(sorted(bonds))}\n"


with open(f"{sys.argv[1]}/molecules.tsv", "w") as f:
    f.writelines(line(smiles) for smiles in MOLECULES.split())
